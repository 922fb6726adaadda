#!/bin/sh
# What `measure.sh` found, in two tables for reading: a row per task, layer and level; a row per check on a trained model.
# usage: WORK=DIR sh summary.sh
set -eu
cd "$(dirname "$0")"
tasks=
for task in listops cifar10 imdb; do
    [ ! -e "$WORK/results/$task-verify.tsv" ] || tasks="$tasks $task"
done
[ -n "$tasks" ] || { echo "summary: $WORK/results has no table of 'make -C experiments measures'" >&2; exit 3; }
# rows TASK-WHAT.tsv: its rows, each after the task and what was measured, with the names of the columns first
rows() {
    for task in $tasks; do
        for what; do
            sed "s/^/$task	$what	/" "$WORK/results/$task-$what.tsv"
        done
    done
}

echo "Range over heads; share of energy in the own band (details); change of accuracy without the level, in points."
echo
rows kurtosis inertia asymmetry gates bands ablate | awk -F '\t' '
function cell(name) { return $(at[name]) }
function widen(key, x) { x += 0; if (!(key in low) || x < low[key]) low[key] = x; if (!(key in high) || x > high[key]) high[key] = x }
function range(key, form) {
    if (!(key in low)) return "-"
    return sprintf(form, low[key]) (sprintf(form, high[key]) == sprintf(form, low[key]) ? "" : " to " sprintf(form, high[key]))
}
$2 != what || $1 != task { task = $1; what = $2; for (i in at) delete at[i]; for (i = 3; i <= NF; i++) at[$i] = i; next }
{ place = task SUBSEP cell("layer") SUBSEP cell("level") }
what == "kurtosis" && cell("head") != "NA" {
    if (!(place in seen)) { seen[place] = 1; order[++n] = place }
    widen(place SUBSEP "kappa", cell("kappa"))
}
what == "inertia" && cell("kind") == "gram" { widen(place SUBSEP "negative", cell("negative_mass")) }
what == "asymmetry" && cell("quantity") == "antisymmetric" { widen(place SUBSEP "anti", cell("value")) }
what == "gates" { widen(place SUBSEP cell("quantity"), cell("value")) }
what == "bands" && cell("quantity") == "detail" && cell("band") == cell("level") { widen(place SUBSEP "detail", cell("value")) }
what == "ablate" && cell("part") == "level" && cell("layer") == "NA" { widen(task SUBSEP cell("level") SUBSEP "change", 100 * cell("change")) }
END {
    print "| task | layer | level | kappa | antisymmetric energy | negative mass of the Gram matrix | lambda | alpha | beta | own band | without the level |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= n; i++) {
        split(order[i], p, SUBSEP); k = order[i] SUBSEP
        printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", p[1], p[2], p[3], range(k "kappa", "%.2f"),
            range(k "anti", "%.3f"), range(k "negative", "%.2f"), range(k "lambda", "%.2f"), range(k "alpha", "%.2f"),
            range(k "beta", "%.2f"), range(k "detail", "%.2f"), range(p[1] SUBSEP p[3] SUBSEP "change", "%+.1f")
    }
}'
echo
rows verify | awk -F '\t' -v tasks="$tasks" '
$3 == "claim" { for (i = 3; i <= NF; i++) at[$i] = i; next }
$(at["subject"]) != "NA" {
    k = $(at["claim"]) " | " $(at["check"])
    if (!(k in seen)) { seen[k] = 1; order[++n] = k }
    v[$1, k] = $(at["verdict"]) ($(at["measured"]) == "NA" ? "" : sprintf(" (%.3g)", $(at["measured"])))
}
END {
    m = split(tasks, t, " ")
    printf "| claim | check |"; for (j = 1; j <= m; j++) printf " %s |", t[j]; print ""
    printf "| --- | --- |"; for (j = 1; j <= m; j++) printf " --- |"; print ""
    for (i = 1; i <= n; i++) { printf "| %s |", order[i]; for (j = 1; j <= m; j++) printf " %s |", v[t[j], order[i]]; print "" }
}'
