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
data=$WORK/data/$(data_of "$setting")

# Another process may have it, or have done it since this one was started.
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock -n 9 || { echo "== $key: another process is at it" >&2 && exit 0; }
[ -n "$(sh ./missing.sh "$key")" ] || exit 0
echo "== $key" >&2

# Rows of one setting are of the same data.
name=main
[ "$setting" = "$task" ] || name=${setting#*-}
"$BIN/hkt-data" inspect "$data" --task "$task" >"$dir/data.txt"
sums=$(sed -n 's/^checksum of .*: //p' "$dir/data.txt" | tr '\n' "$tab")
for table in "$WORK/results/runs.tsv" "$WORK/runs/$setting"/*/*/row.tsv; do
    named "task${tab}setting${tab}data${tab}test_data" "$table"
done | awk -F '\t' -v task="$task" -v setting="$name" -v here="$sums" -v key="$key" '
    $1 == task && $2 == setting && $3 != "NA" && $3 FS $4 FS != here {
        split(here, sum, FS)
        print key ": data: expected the checksums " $3 ", " $4 " of the recorded runs, found " sum[1] ", " sum[2]; exit 3
    }' >&2 || exit 3
train "$key" "$setting" "$model" --seed "$seed"
"$BIN/hkt-eval" --checkpoint "$dir/best.safetensors" --task "$task" --data "$data" --split test --threads "$THREADS" \
    --json "$dir/test.json" --sequences "$dir/sequences.tsv" >/dev/null
{
    echo "$columns"
    for cell in "$task" "$model" "$name" "$seed" "$(json "$dir/run.json" best_val_accuracy)" "$(json "$dir/test.json" accuracy)" \
        "$(result_of "$key" parameters)" "$(result_of "$key" tokens_per_s)" "$(result_of "$key" seconds)" \
        "$(json "$dir/run.json" commit)" "$(json "$dir/test.json" majority)" "$(json "$dir/test.json" sequences)" \
        "$(result_of "$key" steps)" "$(json "$dir/run.json" threads)" "$(json "$dir/run.json" blas_core)" \
        "$(json "$dir/run.json" isa)" "$(json "$dir/run.json" arithmetic)" "$(json "$dir/run.json" processor)" \
        "$(json "$dir/test.json" loss)" "$(result_of "$key" cpu_seconds)" "$(result_of "$key" peak_bytes)" \
        "$(json "$dir/run.json" data)" "$(json "$dir/test.json" checksum)" "$(config_of "$setting")"; do
        printf '%s\t' "$cell"
    done
    json "$dir/run.json" command
} >"$dir/row.tsv.new"
mv "$dir/row.tsv.new" "$dir/row.tsv"
