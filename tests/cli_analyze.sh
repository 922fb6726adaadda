#!/bin/sh
# hkt-analyze as a program: its three tables, their form, and what it refuses.
set -u
. "$HKT_SOURCE/tests/tap.sh"

hkt-data listops --out d --train 60 --val 12 --test 12 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 --seed 7 \
    2>/dev/null || exit 1
hkt-train --data d --d-model 8 --heads 2 --layers 2 --levels 2 --batch-tokens 300 --steps 4 --max-len 30 --out run \
    >/dev/null 2>&1 || exit 1
best=run/best.safetensors
rows() { # rows FILE: its rows without # lines and column names
    grep -v '^#' "$1" | sed 1d
}
column() { # column FILE NAME: the cells of a column
    awk -F '\t' -v name="$2" '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
complete() { # complete FILE: it says how it was made and ends with # ok
    grep -q '^# command: .*hkt-analyze' "$1" && grep -q '^# version: ' "$1" && grep -q '^# seed: ' "$1" &&
        [ "$(tail -n 1 "$1")" = '# ok' ]
}

# --- help
check "--help names the measurements" sh -c 'hkt-analyze --help | grep -q "^ *kurtosis " && hkt-analyze --help | grep -q "^ *cost "'

# --- kurtosis
check "kurtosis" hkt-analyze kurtosis --checkpoint $best --data d --out k.tsv --histogram h.tsv
check "both tables are complete" sh -c 'tail -n 1 k.tsv | grep -q "^# ok$" && tail -n 1 h.tsv | grep -q "^# ok$"'
check "the table says how to make it again" complete k.tsv
check "a row per layer, level and head, and one for all heads" test "$(rows k.tsv | wc -l)" -eq 12
check "every row is ok" test "$(column k.tsv status | sort -u)" = ok
check "12 sequences" test "$(column k.tsv sequences | sort -u)" = 12
check "kappa lies in its interval and under its ceiling" awk -F '\t' '/^#/ { next } !h { h = 1; next }
    !($8 <= $7 && $7 <= $9 && $8 < $9 && $7 <= $16) { exit 1 }' k.tsv
check "head 'all' is of dimension 2" test "$(awk -F '\t' '$3 == "all" { print $4 }' k.tsv | sort -u)" = 2
check "histogram: counts of a head add up to n" awk -F '\t' '
    FNR == 1 { file++ } /^#/ || /^layer/ { next }
    file == 1 && $3 != "all" { n[$1, $2, $3] = $5 }
    file == 2 { n[$1, $2, $3] -= $7 }
    END { for (i in n) { heads++; if (n[i] != 0) exit 1 } exit heads != 8 }' k.tsv h.tsv
hkt-analyze kurtosis --checkpoint $best --data d >stdout.tsv
check "standard output by default" sh -c 'grep -v "^#" stdout.tsv >a; grep -v "^#" k.tsv | cmp a -'
hkt-analyze kurtosis --checkpoint $best --data d --threads 1 --out t1.tsv
hkt-analyze kurtosis --checkpoint $best --data d --threads 2 --out t2.tsv
check "threads do not change the result" sh -c 'grep -v "^#" t1.tsv >a; grep -v "^#" t2.tsv | cmp a -'
hkt-analyze kurtosis --checkpoint $best --data d --seed 3 --out s.tsv
check "another seed changes the intervals only" sh -c '! { grep -v "^#" k.tsv | cut -f 8 >a; grep -v "^#" s.tsv | cut -f 8 | cmp -s a -; } &&
    { grep -v "^#" k.tsv | cut -f 1-7 >a; grep -v "^#" s.tsv | cut -f 1-7 | cmp a -; }'
hkt-analyze kurtosis --checkpoint $best --data d --sequences 1 --out one.tsv
check "one sequence: no interval, and a warning" sh -c '! grep -v "^#" one.tsv | sed 1d | grep -v "warning: no interval: .*2 units"'
hkt-analyze kurtosis --checkpoint $best --data d --split test --sequences 5 --out five.tsv
check "--sequences" test "$(column five.tsv sequences | sort -u)" = 5

# --- spectrum
check "spectrum of a sequence" hkt-analyze spectrum --checkpoint $best --data d --out g.tsv
check "spectrum of random tokens" hkt-analyze spectrum --checkpoint $best --tokens 20 --seed 1 --out r.tsv
check "untied heads: 4 positive, 4 negative of d = 8 eigenvalues" sh -c '
    test "$(grep "^form" g.tsv | cut -f 2-4,8 | sort | uniq -c | sed "s/^ *//; s/ .*//" | sort -u)" = 4'
check "levels 0, 1 and the sum" test "$(awk -F '\t' '$1 == "gram" { print $3 }' r.tsv | sort -u | tr '\n' ' ')" = "0 1 sum "

# --- cost
check "cost" hkt-analyze cost --levels 3 --tokens 4096 --out c.tsv
check "R reaches the bound for 21 lengths, the largest 41" sh -c '
    awk -F "\t" "\$1 == \"pairs\" && \$3 == 3 && \$9 == \"no\" { print \$5 }" c.tsv >a
    test "$(wc -l <a)" -eq 21 && test "$(sort -n a | tail -n 1)" -eq 41'
check "cost of a checkpoint's shape" sh -c "hkt-analyze cost --checkpoint $best --tokens 64 | cut -f 2 | grep -qx 8"

# --- bad input: one line, a status, and no output
fails "no measurement" 2 "" hkt-analyze
fails "unknown measurement" 2 "kurtosis" hkt-analyze kurtois --checkpoint $best --data d
fails "unknown option" 2 "did you mean '--sequences'" hkt-analyze kurtosis --sequnces 3
fails "no checkpoint" 2 "checkpoint" hkt-analyze kurtosis --data d
fails "no data" 2 "data" hkt-analyze kurtosis --checkpoint $best
fails "data without a checkpoint" 2 "needs '--checkpoint'" hkt-analyze cost --data d
fails "histogram of something else" 2 "only for 'kurtosis'" hkt-analyze cost --histogram x.tsv
fails "one file for two tables" 2 "found 'x.tsv' twice" \
    hkt-analyze kurtosis --checkpoint $best --data d --out x.tsv --histogram x.tsv
fails "missing checkpoint" 3 "nowhere" hkt-analyze kurtosis --checkpoint nowhere --data d --out x.tsv
fails "missing data" 3 "nowhere" hkt-analyze kurtosis --checkpoint $best --data nowhere --out x.tsv
head -c 500 $best >cut.safetensors
fails "truncated checkpoint" 3 "cut.safetensors" hkt-analyze spectrum --checkpoint cut.safetensors --out x.tsv
hkt-data listops --out long --train 5 --val 5 --test 5 --min-length 40 --max-length 60 --seed 1 2>/dev/null
fails "sequence longer than the model" 3 "val.tsv" hkt-analyze kurtosis --checkpoint $best --data long --out x.tsv
fails "output in a directory that is not there" 5 "nowhere/x.tsv" hkt-analyze cost --out nowhere/x.tsv
check "no output was left" sh -c 'test ! -e x.tsv && test -z "$(find . -name "x.tsv*")"'
finish
