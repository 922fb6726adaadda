#!/bin/sh
# The programs for arm64, emulated, give the same bytes as those of this machine: weights after training, logits, moments of
# scores; and the same verdicts. Only as part of `make test-arm64`, which builds both.
if [ -z "${HKT_NATIVE:-}" ]; then
    echo "1..0 # skip: make test-arm64"
    exit 0
fi
. "$HKT_SOURCE/tests/tap.sh"
on() { # on SIDE PROGRAM OPTION...: a program of this machine (native) or the emulated one (arm64), in a directory of its own
    side=$1 program=$2
    shift 2
    mkdir -p "$side"
    if [ "$side" = native ]; then
        (cd "$side" && "$HKT_NATIVE/bin/$program" "$@")
    else
        (cd "$side" && "$BUILD/bin/$program" "$@")
    fi
}
both() { # both PROGRAM OPTION...
    on native "$@" && on arm64 "$@"
}
same() { # same FILE: equal, and not empty
    [ -s "native/$1" ] && cmp "native/$1" "arm64/$1"
}

check "hkt-bench names the instruction set" sh -c '"$1/bin/hkt-bench" exp --repeats 1 --json - | grep -q "\"isa\": \"neon\""' - "$BUILD"

check "hkt-data: the same sequences" both hkt-data listops --out data --train 60 --val 20 --test 10 --min-length 5 --max-length 90
for split in train val test; do
    check "hkt-data: the same $split.tsv" same data/$split.tsv
done

trained() { # trained NAME OPTION...
    name=$1
    shift
    check "$name: 20 steps" both hkt-train --data data --out "$name" --steps 20 --eval-every 20 --batch-tokens 500 --layers 1 "$@"
    for file in last best; do
        check "$name: the same $file.safetensors" same "$name/$file.safetensors"
    done
}
trained hkt --model hkt --dropout 0.1
trained score --model hkt --fusion score --stride 3
trained mha --model mha
trained d20 --model hkt --d-model 20 --heads 2
check "control: another seed, other weights" sh -c '"$HKT_NATIVE/bin/hkt-train" --data native/data --out native/other --steps 20 --eval-every 20 \
    --batch-tokens 500 --layers 1 --model mha --seed 7 && ! cmp native/other/last.safetensors arm64/mha/last.safetensors'

# Both sides read the checkpoint of this machine. The batch: two sequences of 8 and 5 tokens, one byte for each number.
header='{"input.tokens":{"dtype":"U8","shape":[2,8],"data_offsets":[0,16]},"input.lengths":{"dtype":"U8","shape":[2],"data_offsets":[16,18]},"input.labels":{"dtype":"U8","shape":[2],"data_offsets":[18,20]}}'
# shellcheck disable=SC2059 # the length in octal
printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s\\1\\2\\3\\4\\5\\6\\7\\10\\5\\4\\3\\2\\1\\0\\0\\0\\10\\5\\7\\3" "$header" >batch.safetensors
for precision in f32 f64; do
    check "logits in $precision" both hkt-eval --checkpoint ../native/hkt/best.safetensors --input ../batch.safetensors \
        --precision $precision --logits logits-$precision.npy --grads grads-$precision.safetensors
    check "gradients in $precision: the same" same grads-$precision.safetensors
    check "logits in $precision: the same" same logits-$precision.npy
done
check "control: not the same in f32 and f64" sh -c '! cmp native/logits-f32.npy arm64/logits-f64.npy'

table() { cat "$1/kurtosis.tsv"; }
check "moments of the scores" both hkt-analyze kurtosis --checkpoint ../native/hkt/best.safetensors --data data --split val \
    --out kurtosis.tsv
check "moments of the scores: the same in all digits" test "$(table native | wc -l)" -gt 12 -a "$(table native)" = "$(table arm64)"

# Measured values rest on LAPACK, whose last bits differ; verdicts do not.
verdicts() { cut -f 1-4,9,10 "$1"; }
for claim in psd cost bands; do
    check "claim $claim" both hkt-verify $claim --quick --tsv $claim.tsv
    check "claim $claim: the same verdicts" test -n "$(verdicts native/$claim.tsv)" -a \
        "$(verdicts native/$claim.tsv)" = "$(verdicts arm64/$claim.tsv)"
done
finish
