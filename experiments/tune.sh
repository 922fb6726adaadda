#!/bin/sh
# shellcheck disable=SC2154 # tab, columns: from common.sh
# Tuning looks at validation alone: trains a setting with another peak learning rate and a seed of its own (100), for STEPS
# updates (0: as long as the setting says), without the test split; `collect` gathers what there is in results/tuning.tsv.
# usage: BIN=DIR WORK=DIR INI=DIR THREADS=N STEPS=N sh tune.sh SETTING/MODEL/LR | collect
set -eu
cd "$(dirname "$0")"
. ./common.sh
if [ "$1" != collect ]; then
    setting=${1%%/*} lr=${1##*/}
    model=${1#*/} model=${model%/*}
    echo "== tune $1" >&2
    train "tune/$1" "$setting" "$model" --seed 100 --lr "$lr" --steps "$STEPS"
    exit
fi
mkdir -p "$WORK/results"
table=$WORK/results/tuning.tsv
columns="setting${tab}model${tab}lr${tab}seed${tab}best_val_accuracy${tab}last_val_loss${tab}steps${tab}seconds${tab}commit${tab}arithmetic"
for dir in "$WORK"/runs/tune/*/*/*; do
    key=${dir#"$WORK/runs/"}
    [ -s "$dir/result.txt" ] || continue # not finished
    best=$(json "$dir/run.json" best_val_accuracy)
    echo "${key#tune/}" | tr '/\n' '\t\t'
    printf '100\t%s\t%s\t%s\t%s\t%s\t%s\n' "$best" "$(result_of "$key" last_val_loss)" "$(result_of "$key" steps)" \
        "$(result_of "$key" seconds)" "$(json "$dir/run.json" commit)" "$(json "$dir/run.json" arithmetic)"
done >"$table.rows"
# Rows that came with the repository and are not made anew here stay.
named "$columns" "$table" >"$table.old"
{
    echo "$columns"
    cat "$table.rows" "$table.old" | awk -F '\t' '!seen[$1, $2, $3, $4]++' |
        LC_ALL=C sort -t "$tab" -k1,1 -k2,2 -k3,3g
} >"$table.new"
rm -f "$table.rows" "$table.old"
mv "$table.new" "$table"
cat "$table"
