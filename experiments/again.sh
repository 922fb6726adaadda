#!/bin/sh
# shellcheck disable=SC2154 # tab: from common.sh
# Does a recorded run anew, in a directory of its own, and compares its row and its curve with what is recorded: says `same
# digits`, or which columns differ and by how much; then where the two were made differently. With the reproducible
# arithmetic all digits are the same on every machine.    usage: BIN=DIR WORK=DIR INI=DIR THREADS=N sh again.sh SETTING/MODEL/SEED
set -eu
cd "$(dirname "$0")"
. ./common.sh
key=$1
recorded=$WORK/results again=$WORK/again/$(echo "$key" | tr / -) # a folder of its own
found=$again/results
whole "$recorded/runs.tsv"
whole "$recorded/curves.tsv"
row() { # row COLUMNS TABLE: lines of that run, from a table whose first columns are those of a run
    named "task${tab}model${tab}setting${tab}seed$tab$1" "$2" | awk -F '\t' -v key="$key" '
        $1 ($3 == "main" ? "" : "-" $3) "/" $2 "/" $4 == key' | cut -f 5-
}
results=$(printf 'best_val_accuracy\ttest_accuracy\tparameters\tmajority\ttest_sequences\tsteps')
curve=$(printf 'step\ttrain_loss\tval_loss\tval_accuracy')
places=$(printf 'arithmetic\tprocessor\tisa\tblas_core\tcommit')
[ -n "$(row "$results" "$recorded/runs.tsv")" ] || { echo "again: results/runs.tsv has no run '$key'" >&2; exit 2; }
mkdir -p "$again"
exec 7>"$again/.lock"
flock -n 7 || { echo "again: another process does '$key' anew" >&2; exit 2; }
rm -rf "$again/runs" "$found"
[ -e "$again/data" ] || ln -s "$(cd "$WORK/data" && pwd)" "$again/data"
WORK=$again sh ./run.sh "$key"
WORK=$again sh ./collect.sh >/dev/null

# compare COLUMNS TABLE: a line for each column that differs; the largest difference, and a value that is no number, count
compare() {
    row "$1" "$recorded/$2" >"$again/recorded.rows"
    row "$1" "$found/$2" >"$again/found.rows"
    awk -F '\t' -v columns="$1" 'BEGIN { n = split(columns, name, FS) }
        from == "recorded" { was[FNR] = $0; rows = FNR; next }
        { again = FNR; split(was[FNR], old, FS)
          for (i = 1; i <= n; i++) {
              number = $i ~ /^-?[0-9]/ && old[i] ~ /^-?[0-9]/
              if (number && $i == old[i] "") continue
              d = number ? $i - old[i] : 0; d = d < 0 ? -d : d
              if (!(i in count) || d > most[i]) { most[i] = d; pair[i] = "recorded " old[i] ", again " $i }
              count[i]++
          } }
        END {
            if (again != rows) printf "differs: %d rows recorded, again %d\n", rows, again
            for (i = 1; i <= n; i++)
                if (i in count) printf "differs: %s by %.3g at most, in %d of %d: %s\n", name[i], most[i], count[i], again, pair[i]
        }' from=recorded "$again/recorded.rows" from=again "$again/found.rows"
}
differences=$(compare "$results" runs.tsv; compare "$curve" curves.tsv)
echo "$key: ${differences:-same digits}"
row "$places" "$recorded/runs.tsv" | { cat; row "$places" "$found/runs.tsv"; } | awk -F '\t' -v columns="$places" '
    NR == 1 { split($0, old, FS); next }
    { n = split(columns, name, FS); for (i = 1; i <= n; i++) if ($i != old[i]) printf "%s: recorded %s, here %s\n", name[i], old[i], $i }'
[ -z "$differences" ]
