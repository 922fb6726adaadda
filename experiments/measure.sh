#!/bin/sh
# What the claims say of a trained model: hkt-verify and the analyses on the best checkpoint of one run, on its validation
# split; tables results/TASK-*.tsv.    usage: BIN=DIR WORK=DIR THREADS=N sh measure.sh TASK/MODEL/SEED
set -eu
cd "$(dirname "$0")"
key=$1
task=${key%%/*}
best=$WORK/runs/$key/best.safetensors
if [ ! -s "$best" ]; then
    echo "measure: $best is not there: make -C experiments run/$key" >&2
    exit 3
fi
mkdir -p "$WORK/results"
on() { # on PROGRAM WHAT OPTION...
    program=$1 what=$2
    shift 2
    echo "== $task: $program $what" >&2
    "$BIN/$program" "$what" --checkpoint "$best" --task "$task" --data "$WORK/data/$task" --split val --threads "$THREADS" "$@"
}
table() { echo "$WORK/results/$task-$1.tsv"; }
on hkt-verify all --quick --tsv "$(table verify)" >/dev/null
for what in kurtosis bands gates information; do
    on hkt-analyze $what --sequences 64 --out "$(table $what)"
done
for what in inertia asymmetry; do
    on hkt-analyze $what --out "$(table $what)"
done
on hkt-analyze ablate --sequences 1000 --out "$(table ablate)"
