#!/bin/sh
# hkt-eval as a program: a split of a data set, a batch from a file, and errors.
set -u
. "$HKT_SOURCE/tests/tap.sh"

hkt-data listops --out d --train 100 --val 20 --test 50 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 \
    --seed 7 2>/dev/null || exit 1
hkt-train --data d --d-model 8 --heads 2 --layers 1 --levels 2 --batch-tokens 300 --steps 10 --max-len 30 --out run \
    >/dev/null 2>&1 || exit 1
best=run/best.safetensors

# --- a split
check "evaluates a split" sh -c "hkt-eval --checkpoint $best --data d --split test >text"
check "accuracy with its interval" grep -Eq '^accuracy +0\.[0-9]{4}  \([0-9]+ right; 95 % interval 0\.[0-9]{4} to 0\.[0-9]{4}\)' text
check "majority baseline" grep -Eq '^majority baseline +0\.[0-9]{4}' text
check "the confusion matrix counts every sequence" sh -c \
    'awk "/^confusion/ { on = 1; getline; next } on { for (i = 2; i <= NF; i++) n += \$i } END { exit n != 50 }" text'
hkt-eval --checkpoint $best --data d --split val --json val.json >/dev/null
value() { sed -n "s/^ *\"$1\": \\([-0-9.e]*\\),*\$/\\1/p" val.json; }
logged=$(awk -F '\t' '/^step/ { next } $5 > best { best = $5 } END { print best }' run/log.tsv)
check "accuracy of the best checkpoint on val is the logged one" test "$(value accuracy)" = "$logged"
check "the interval holds the accuracy" sh -c "awk 'BEGIN { exit !($(value accuracy_low) < $(value accuracy) && $(value accuracy) < $(value accuracy_high)) }'"
hkt-eval --checkpoint $best --data d --json - >stdout.json
check "--json - is JSON alone" sh -c 'head -c 1 stdout.json | grep -q "{" && ! grep -q "confusion matrix" stdout.json'
hkt-eval --checkpoint $best --data d --batch-tokens 64 --sequences sequences.tsv >text
check "a row for each sequence, in order, its label and length those of the data" sh -c 'grep -v "^#" sequences.tsv | sed 1d | cut -f 1-3 >rows &&
    sed 1d d/test.tsv | cut -f 2 >labels &&
    [ "$(wc -l <rows)" -eq 50 ] && awk "{ exit \$1 != NR - 1 }" rows && [ "$(cut -f 3 rows)" = "$(cat labels)" ]'
check "right or not: as many per label as the confusion matrix has on its diagonal" sh -c \
    'grep -v "^#" sequences.tsv | sed 1d | awk -F "\t" "{ n[\$3] += \$4 } END { for (c = 0; c < 10; c++) print n[c] + 0 }" >right &&
     awk "/^confusion/ { on = 1; getline; next } on { print \$(\$1 + 2) }" text >diagonal && cmp right diagonal && grep -q "[1-9]" right'
hkt-eval --checkpoint $best --data d --threads 1 --batch-tokens 1 >one
hkt-eval --checkpoint $best --data d --threads 2 --batch-tokens 1 >two
check "threads do not change the result" cmp one two

# --- a batch from a file
# safetensors FILE TOKENS LENGTH LABEL: one sequence of four tokens, as octal bytes
safetensors() {
    header='{"input.tokens":{"dtype":"U8","shape":[1,4],"data_offsets":[0,4]},"input.lengths":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},"input.labels":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}}'
    # shellcheck disable=SC2059
    printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0%s$2$3$4" "$header" >"$1"
}
safetensors good '\1\2\3\4' '\4' '\7'
hkt-eval --checkpoint $best --input good --logits a.npy --grads a.safetensors --precision f64 >a.txt
check "writes logits, gradients and the loss" sh -c "test $? -eq 0 && grep -q '^loss	[0-9]' a.txt && test -s a.npy && test -s a.safetensors"
hkt-eval --checkpoint $best --input good --logits b.npy --grads b.safetensors --precision f64 --threads 1 >b.txt
check "the same bytes with one thread" sh -c 'cmp a.npy b.npy && cmp a.safetensors b.safetensors && cmp a.txt b.txt'
hkt-eval --checkpoint $best --input good --logits c.npy >/dev/null
check "f32 logits by default, f64 on request" sh -c 'grep -aq "<f4" c.npy && grep -aq "<f8" a.npy'
hkt-eval --checkpoint run/last.safetensors --input good --logits d.npy >/dev/null
hkt-eval --checkpoint run/last.safetensors --input good --logits e.npy >/dev/null
check "the same call gives the same bytes" cmp d.npy e.npy

hkt-eval --checkpoint $best --input good --logits - --precision f64 >stdout.npy
check "--logits - is the file alone" cmp stdout.npy a.npy
hkt-eval --checkpoint $best --input good --grads - --precision f64 >stdout.safetensors
check "--grads - is the file alone" cmp stdout.safetensors a.safetensors

# --- outputs that are inputs
cp good in
cp $best ckpt
ln -s in soft
ln ckpt hard
before=$(cat in ckpt | cksum)
fails "logits onto the input" 2 "option '--logits': expected another file than that of '--input', found 'in'" hkt-eval --checkpoint ckpt --input in --logits in
fails "logits onto the input, by another path" 2 "than that of '--input', found './d/../in'" hkt-eval --checkpoint ckpt --input in --logits ./d/../in
fails "grads onto the input, by a link" 2 "option '--grads': expected another file than that of '--input', found 'soft'" hkt-eval --checkpoint ckpt --input in --grads soft
fails "grads onto the checkpoint, by a hard link" 2 "than that of '--checkpoint', found 'hard'" hkt-eval --checkpoint ckpt --input in --grads hard
fails "logits and grads in one file" 2 "option '--grads': expected another file than that of '--logits', found './out'" hkt-eval --checkpoint ckpt --input in --logits out --grads ./out
fails "logits and grads on standard output" 2 "option '--grads'" hkt-eval --checkpoint ckpt --input in --logits - --grads -
fails "json onto the checkpoint" 2 "option '--json': expected another file than that of '--checkpoint'" hkt-eval --checkpoint ckpt --data d --json hard
check "nothing was overwritten" test "$(cat in ckpt | cksum)" = "$before"

safetensors bad '\1\2\3\4' '\0' '\7'
fails "length 0" 3 "bad: tensor 'input.lengths': expected 1..4 at [0], found 0" hkt-eval --checkpoint $best --input bad --logits x.npy
safetensors bad '\1\2\3\4' '\5' '\7'
fails "length beyond the row" 3 "expected 1..4 at [0], found 5" hkt-eval --checkpoint $best --input bad --logits x.npy
safetensors bad '\1\2\3\4' '\4' '\12'
fails "label out of range" 3 "bad: tensor 'input.labels': expected 0..9 at [0], found 10" hkt-eval --checkpoint $best --input bad --logits x.npy
safetensors bad '\1\2\17\4' '\4' '\7'
fails "token outside the vocabulary" 3 "bad: tensor 'input.tokens': expected 0..14 at [0, 2], found 15" hkt-eval --checkpoint $best --input bad --logits x.npy
fails "no input tensors" 3 "$best: expected tensor 'input.tokens', found none" hkt-eval --checkpoint $best --input $best --logits x.npy
check "nothing is written for a bad input" test ! -e x.npy

# --- errors
head -c -1 $best >short.safetensors
fails "a checkpoint cut by one byte" 3 "short.safetensors" hkt-eval --checkpoint short.safetensors --data d
fails "a missing checkpoint" 3 "nowhere" hkt-eval --checkpoint nowhere --data d
fails "a file that is no checkpoint" 3 "d/test.tsv" hkt-eval --checkpoint d/test.tsv --data d
hkt-data listops --out long --train 5 --val 5 --test 5 --min-length 31 --max-length 40 --seed 7 2>/dev/null
fails "a sequence longer than the model" 3 "long/test.tsv:2" hkt-eval --checkpoint $best --data long
printf 'Source\tTarget\n[MAX 1 2 ]\t10\n' >d/test.tsv
fails "a label out of range in the data" 3 "d/test.tsv:2" hkt-eval --checkpoint $best --data d
fails "no checkpoint" 2 "option '--checkpoint' is required" hkt-eval --data d
fails "neither data nor input" 2 "expected one of '--data' and '--input', found none" hkt-eval --checkpoint $best
fails "both data and input" 2 "found both" hkt-eval --checkpoint $best --data d --input good
fails "logits of a data set" 2 "option '--logits' needs '--input'" hkt-eval --checkpoint $best --data d --logits x.npy
for option in "--split val" "--task imdb" "--batch-tokens 9" "--json x" "--sequences x"; do
    fails "${option% *} of a batch" 2 "option '${option% *}' needs '--data'" hkt-eval --checkpoint $best --input good $option
done
fails "precision of a data set" 2 "option '--precision' needs '--input'" hkt-eval --checkpoint $best --data d --precision f32
LC_ALL=C sed 's/dynamic\\",/static\\" ,/; s/hkt.xxh3/old.xxh3/' $best >static.safetensors
fails "weights of another configuration" 3 "static.safetensors: tensor 'layers.0.attn.gate.weight': expected none in a model with" hkt-eval --checkpoint static.safetensors --data d
fails "an unknown split" 2 "train|val|test" hkt-eval --checkpoint $best --data d --split tset
fails "a folder that is missing" 5 "missing/x.npy" hkt-eval --checkpoint $best --input good --logits missing/x.npy
if [ -e /dev/full ]; then
    check "a full disk on standard output is an error" sh -c "hkt-eval --checkpoint $best --input good >/dev/full; test \$? -eq 5"
fi
finish
