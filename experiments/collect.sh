#!/bin/sh
# shellcheck disable=SC2154 # tab, columns: from common.sh
# Gathers the rows of finished runs in results/runs.tsv and their logs in results/curves.tsv, keeps the rows of runs that
# are not here (they came with the repository), and prints the table.    usage: WORK=DIR INI=DIR sh collect.sh
set -eu
cd "$(dirname "$0")"
. ./common.sh
out=$WORK/results
mkdir -p "$out"
exec 8>"$out/.lock" # one at a time
flock 8
# Names below runs/ have no spaces, whatever is above.
rows=$(cd "$WORK/runs" 2>/dev/null && find . -name row.tsv | sort) || true

whole "$out/runs.tsv"
whole "$out/curves.tsv"
whole "$out/answers.tsv"
whole "$out/agreement.tsv"

body() { [ ! -e "$1" ] || grep -v '^#' "$1" | sed 1d; }
# gather FILE COLUMNS: rows on standard input, and those of FILE whose run (the first four cells) is not among them
gather() {
    cat >"$1.rows"
    named "$2" "$1" | awk -F '\t' '{ run = $1 FS $2 FS $3 FS $4 } from == "new" { here[run] = 1; print; next } !(run in here)' \
        from=new "$1.rows" from=old - >"$1.body"
    {
        echo "$2"
        LC_ALL=C sort -t "$tab" -k1,1 -k3,3 -k2,2 -k4,4n -k5,5n "$1.body"
    } >"$1.new"
    rm "$1.rows" "$1.body"
    mv "$1.new" "$1"
}
# Where this machine has its work is no part of a recorded command.
here() { awk -v w="$WORK/" '{ while (w ~ /^\// && (i = index($0, w)) > 0) $0 = substr($0, 1, i - 1) "./" substr($0, i + length(w)) } 1'; }
for r in $rows; do named "$columns" "$WORK/runs/$r"; done | here | gather "$out/runs.tsv" "$columns"
for r in $rows; do
    run=$(body "$WORK/runs/$r" | cut -f 1-4)
    body "$WORK/runs/$(dirname "$r")/log.tsv" | sed "s/^/$run$tab/"
done | gather "$out/curves.tsv" \
    "task${tab}model${tab}setting${tab}seed${tab}step${tab}epoch${tab}train_loss${tab}val_loss${tab}val_accuracy${tab}lr${tab}tokens_per_s${tab}seconds"

# Which test sequences each run is right on: hexadecimal digits, four sequences in each, the first in the highest bit.
for r in $rows; do
    dir=$WORK/runs/$(dirname "$r")
    [ -e "$dir/sequences.tsv" ] || continue
    printf '%s\t' "$(named "task${tab}model${tab}setting${tab}seed${tab}test_data" "$dir/row.tsv")"
    named right "$dir/sequences.tsv" | awk '{ d = 2 * d + $1 } NR % 4 == 0 { printf "%x", d; d = 0 }
        END { for (i = NR % 4; i && i < 4; i++) d *= 2; if (NR % 4) printf "%x", d; print "" }'
done | gather "$out/answers.tsv" "task${tab}model${tab}setting${tab}seed${tab}test_data${tab}right"

# Pairs with a run whose answers were not kept stay.
pairs="task${tab}model${tab}setting${tab}seed${tab}other_model${tab}other_setting${tab}other_seed${tab}both_right"
sh ./agreement.sh "$out/answers.tsv" >"$out/agreement.rows"
{
    echo "$pairs"
    {
        cat "$out/agreement.rows"
        named "$pairs" "$out/agreement.tsv" | awk -F '\t' '
            from == "new" { here[$1 FS $2 FS $3 FS $4 FS $5 FS $6 FS $7]; next }
            !(($1 FS $2 FS $3 FS $4 FS $5 FS $6 FS $7) in here) && !(($1 FS $5 FS $6 FS $7 FS $2 FS $3 FS $4) in here)
        ' from=new "$out/agreement.rows" from=old -
    } | LC_ALL=C sort -t "$tab" -k1,1 -k3,3 -k2,2 -k4,4n -k6,6 -k5,5 -k7,7n
} >"$out/agreement.tsv.new"
rm "$out/agreement.rows"
mv "$out/agreement.tsv.new" "$out/agreement.tsv"

# Mean and standard deviation (n - 1) over seeds, in percent, and the paired difference to MHA of the same setting, or of
# `main` where the setting has none.
body "$out/runs.tsv" | awk -F '\t' '
function spread(n, s, q) { return n > 1 ? sprintf(" +- %.2f", sqrt((q - s * s / n) / (n - 1))) : "" }
{
    k = $1 FS $3 FS $2
    if (!(k in n)) order[++count] = k
    n[k]++; test[k] += 100 * $6; square[k] += 1e4 * $6 * $6; val[k] += 100 * $5
    parameters[k] = $7; speed[k] += $8; seconds[k] += $9; majority[k] = 100 * $11
    of[$1, $3, $2, $4] = 100 * $6; seeds[k] = seeds[k] " " $4
}
END {
    if (!count) { print "no finished run"; exit }
    print "| task | setting | model | seeds | test accuracy, % | over MHA, paired | validation, % | majority, % | parameters | tokens/s | seconds |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= count; i++) {
        k = order[i]; split(k, p, FS); m = 0; d = 0; dd = 0
        number = split(seeds[k], seed, " ")
        mha = (p[1] FS p[2] FS "mha") in n ? p[2] : "main"
        for (j = 1; j <= number; j++)
            if (p[3] != "mha" && (p[1], mha, "mha", seed[j]) in of) {
                x = of[p[1], p[2], p[3], seed[j]] - of[p[1], mha, "mha", seed[j]]; m++; d += x; dd += x * x
            }
        difference = m ? sprintf("%+.2f%s", d / m, spread(m, d, dd)) : ""
        printf "| %s | %s | %s | %d | %.2f%s | %s | %.2f | %.2f | %d | %.0f | %.0f |\n", p[1], p[2], p[3], n[k],
            test[k] / n[k], spread(n[k], test[k], square[k]), difference, val[k] / n[k], majority[k], parameters[k],
            speed[k] / n[k], seconds[k] / n[k]
    }
}'
