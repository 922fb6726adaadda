#!/bin/sh
# The same bytes on every machine: what training, evaluation and the moments of the scores leave has the SHA-256 of
# tests/golden/bytes.tsv, for every instruction set this processor has, any number of threads and every core of OpenBLAS.
# After a change of the arithmetic that is meant: BYTES=write make test MODULE=bytes, in the same commit.
set -u
. "$HKT_SOURCE/tests/tap.sh"
golden=$HKT_SOURCE/tests/golden/bytes.tsv
here=$PWD

hkt-data listops --out d --train 60 --val 20 --test 10 --min-length 5 --max-length 90 --seed 5 2>/dev/null || exit 1
hkt-data listops --out short --train 60 --val 4 --test 4 --min-length 4 --max-length 20 --seed 5 2>/dev/null || exit 1
# A batch of two sequences of 8 and 5 tokens, one byte for each number.
header='{"input.tokens":{"dtype":"U8","shape":[2,8],"data_offsets":[0,16]},"input.lengths":{"dtype":"U8","shape":[2],"data_offsets":[16,18]},"input.labels":{"dtype":"U8","shape":[2],"data_offsets":[18,20]}}'
# shellcheck disable=SC2059 # the length in octal
printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s\\1\\2\\3\\4\\5\\6\\7\\10\\5\\4\\3\\2\\1\\0\\0\\0\\10\\5\\7\\3" "$header" >batch.safetensors

sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
trained() { # trained NAME OPTION...: the weights after 20 updates
    name=$1
    shift
    hkt-train --data ../d --out "$name" --steps 20 --eval-every 20 --batch-tokens 200 --layers 1 "$@" >/dev/null 2>>log &&
        printf '%s\t%s\n' "$name" "$(sum "$name/last.safetensors")"
}
# all DIR: name and SHA-256 of everything, as the programs leave it with the environment as it is
all() {
    rm -rf "$1"
    mkdir "$1"
    cd "$1" || return
    trained hkt-dynamic --model hkt --dropout 0.1
    trained hkt-score-ragged --model hkt --fusion score --stride 3
    trained mha --model mha
    trained hkt-d20 --model hkt --d-model 20 --heads 2
    # A width whose products are too large for one block; short batches, since without vector instructions it is slow.
    trained hkt-d576 --model hkt --levels 2 --d-model 576 --heads 8 --ffn-mult 1 --dropout 0.1 --data ../short --batch-tokens 24
    for precision in f32 f64; do
        hkt-eval --checkpoint hkt-dynamic/last.safetensors --input ../batch.safetensors --precision $precision --logits logits.npy >/dev/null 2>>log
        printf 'logits-%s\t%s\n' "$precision" "$(sum logits.npy)"
    done
    hkt-eval --checkpoint hkt-dynamic/last.safetensors --data ../d --split val 2>>log | grep -v '^time\|tokens/s\|seconds' >evaluation
    printf 'evaluation\t%s\n' "$(sum evaluation)"
    hkt-analyze kurtosis --checkpoint hkt-dynamic/last.safetensors --data ../d --split val 2>>log >moments
    printf 'moments\t%s\n' "$(sum moments)"
    cd "$here" || return
}
isa_of() { sed -n 's/.*"isa": "\([a-z0-9]*\)".*/\1/p' "$1/hkt-dynamic/run.json" | head -n 1; }

if [ "${BYTES:-}" = write ]; then
    { echo "# SHA-256 of what the programs leave (tests/cli_bytes.sh)"; all now; } >"$golden"
fi
grep -v '^#' "$golden" >want
check "nine files are known" test "$(wc -l <want)" -eq 9
compare() { # compare TEXT: with the environment as it is
    all now >now.tsv
    check "$1" sh -c 'diff want now.tsv || { cat now/log; false; }'
}
if [ -n "${HKT_NATIVE:-}" ]; then # emulated: once
    compare "the bytes of other processors"
    finish
    exit
fi
# Each instruction set with a number of threads of its own; `make test-slow` and `make test-machines` try all with all.
threads_for() {
    [ "$HKT_TIER" = fast ] || { echo 1 2 3 7 && return; }
    case $1 in generic) echo 3 ;; avx2) echo 7 ;; avx512) echo 1 ;; *) echo 2 ;; esac
}
for isa in generic avx2 avx512 neon; do
    export HKT_ISA=$isa
    for threads in $(threads_for $isa); do
        export OMP_NUM_THREADS=$threads
        compare "$isa, threads: $threads"
        [ "$(isa_of now)" = "$isa" ] || continue 2 # this processor lacks it
    done
done
unset HKT_ISA
export OMP_NUM_THREADS=2
[ "$HKT_TIER" = fast ] && cores="Haswell Prescott" || cores="Haswell Zen SkylakeX Sandybridge Prescott"
for core in $cores; do
    [ $core != SkylakeX ] || grep -q avx512f /proc/cpuinfo || continue
    export OPENBLAS_CORETYPE=$core
    compare "core $core"
done

# Controls: another seed, and another rate of dropout, are other bytes.
(cd now && trained hkt-dynamic-again --model hkt --dropout 0.1 --seed 7) | cut -f 2 >other
(cd now && trained hkt-dynamic-rate --model hkt --dropout 0.11) | cut -f 2 >>other
check "control: another seed and another rate of dropout give other bytes" sh -c '[ "$(sort -u other | wc -l)" -eq 2 ] && ! grep -qf other want'
finish
