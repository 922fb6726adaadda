#!/bin/sh
# Does a recorded run anew, in a directory of its own, and compares validation and test accuracy with its row: on the same
# type of machine all digits are the same.    usage: BIN=DIR WORK=DIR INI=DIR THREADS=N sh again.sh SETTING/MODEL/SEED
set -eu
cd "$(dirname "$0")"
. ./common.sh
key=$1
accuracies() { # accuracies FILE: best_val_accuracy and test_accuracy of the run in a table
    awk -F '\t' -v key="$key" '/^#/ { next } !at["task"] { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { s = $at["setting"] == "main" ? "" : "-" $at["setting"] }
        $at["task"] s "/" $at["model"] "/" $at["seed"] == key { print $at["best_val_accuracy"], $at["test_accuracy"] }' "$1"
}
recorded=$(accuracies "$WORK/results/runs.tsv")
[ -n "$recorded" ] || { echo "again: results/runs.tsv has no run '$key'" >&2; exit 2; }
mkdir -p "$WORK/again"
rm -rf "$WORK/again/runs"
[ -e "$WORK/again/data" ] || ln -s "$(cd "$WORK/data" && pwd)" "$WORK/again/data"
WORK=$WORK/again sh ./run.sh "$key"
found=$(accuracies "$WORK/again/runs/$key/row.tsv")
echo "recorded: $recorded"
echo "again:    $found"
[ "$recorded" = "$found" ]
