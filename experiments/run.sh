#!/bin/sh
# shellcheck disable=SC2154 # tab, columns: from common.sh
# One run: trains (or resumes), evaluates the checkpoint with the best validation accuracy once on the test split, writes
# runs/SETTING/MODEL/SEED/row.tsv.    usage: BIN=DIR WORK=DIR INI=DIR THREADS=N sh run.sh SETTING/MODEL/SEED
set -eu
cd "$(dirname "$0")"
. ./common.sh
key=$1
setting=${key%%/*}
model=${key#*/} model=${model%/*}
seed=${key##*/}
task=${setting%%-*}
dir=$WORK/runs/$key
echo "== $key" >&2
train "$key" "$setting" "$model" --seed "$seed"
"$BIN/hkt-eval" --checkpoint "$dir/best.safetensors" --task "$task" --data "$WORK/data/$task" --split test \
    --threads "$THREADS" --json "$dir/test.json" >/dev/null
name=main
[ "$setting" = "$task" ] || name=${setting#*-}
{
    echo "$columns"
    for cell in "$task" "$model" "$name" "$seed" "$(json "$dir/run.json" best_val_accuracy)" "$(json "$dir/test.json" accuracy)" \
        "$(result_of "$key" parameters)" "$(result_of "$key" tokens_per_s)" "$(result_of "$key" seconds)" \
        "$(json "$dir/run.json" commit)" "$(json "$dir/test.json" majority)" "$(json "$dir/test.json" sequences)" \
        "$(result_of "$key" steps)" "$(json "$dir/run.json" threads)" "$(json "$dir/run.json" blas_core)" \
        "$(json "$dir/run.json" isa)" "$(json "$dir/run.json" arithmetic)" "$(json "$dir/run.json" processor)" "$(config_of "$setting")"; do
        printf '%s\t' "$cell"
    done
    json "$dir/run.json" command
} >"$dir/row.tsv.new"
mv "$dir/row.tsv.new" "$dir/row.tsv"
