#!/bin/sh
# Writes the report of a demo folder to standard output: settings, results, claims, figures.    usage: report.sh DIR
set -eu
dir=$1
key() { # key FILE KEY: number of a flat "key": number line of a JSON file
    sed -n "s/^ *\"$2\": \([-0-9.e+]*\),*$/\1/p" "$1" | head -n 1
}
row() { # row LABEL MODEL
    e=$dir/$2/eval.json
    awk -v name="$1" -v a="$(key "$e" accuracy)" -v lo="$(key "$e" accuracy_low)" -v hi="$(key "$e" accuracy_high)" \
        -v m="$(key "$e" majority)" -v l="$(key "$e" loss)" -v t="$(key "$dir/$2/run.json" tokens_per_s)" \
        -v n="$(key "$dir/$2/run.json" parameters)" 'BEGIN {
        printf "| %s | %.4f | %.4f to %.4f | %.4f | %.2f | %.4f | %d | %.0f |\n", name, a, lo, hi, m, a / m, l, n, t }'
}
# Accuracy on the test split of the most frequent training label of each outermost operator, as hkt-data inspect prints it.
root_baseline() {
    awk '/^split / && $NF == "outermost" { on = 1 } on && $1 == "test" { print $NF; exit }' "$dir/data.txt"
}
column() { grep -v '^#' "$dir/verify.tsv" | head -n 1 | tr '\t' '\n' | grep -nx "$1" | cut -d: -f1; }

cat <<EOF
# hkt: report of one run

$(grep '^# version\|^# commit\|^# threads\|^# blas_core' "$dir/kurtosis.tsv" | sed 's/^# /- /')
- processor: $(sed -n 's/^ *"processor": "\(.*\)",*$/\1/p' "$dir/hkt/eval.json" | head -n 1)

How to remake it: \`make demo\`. Settings of both trainings: \`experiments/demo.ini\`; every folder and table carries its own command.

## Result
ListOps, 100 to 512 tokens, test split ($(key "$dir/hkt/eval.json" sequences) sequences), seed $(key "$dir/hkt/run.json" seed), a minute of training. Always
answering the most frequent value of the outermost operator (one token) gives $(root_baseline) on the same split.

| model | accuracy | 95 % interval | majority | accuracy / majority | loss | parameters | tokens/s in training |
| --- | --- | --- | --- | --- | --- | --- | --- |
$(row 'HKT (L = 3)' hkt)
$(row MHA mha)

## Claims
A check says VIOLATED when the statement fails under the condition in its row. \`hkt-verify explain CLAIM\` says what each check does.

| claim | check | kind | condition | measured | bound | verdict |
| --- | --- | --- | --- | --- | --- | --- |
$(grep -v '^#' "$dir/verify.tsv" | awk -F '\t' -v c="$(column claim)" -v k="$(column check)" -v kind="$(column kind)" \
    -v cond="$(column condition)" -v m="$(column measured)" -v b="$(column bound)" -v v="$(column verdict)" '
    function number(x) { return x ~ /[0-9]/ ? sprintf("%.5g", x) : "-" }
    NR > 1 { printf "| %s | %s | %s | %s | %s | %s | %s |\n", $c, $k, $kind, $cond, number($m), number($b), $v }')

## Kurtosis of the trained scores
kappa = m4 / (3 m2^2), 1 for a Gaussian; interval: bootstrap over sequences; ceiling: the largest value that a sample of this size can have.

| layer | level | head | kappa | 95 % interval | ceiling |
| --- | --- | --- | --- | --- | --- |
$(grep -v '^#' "$dir/kurtosis.tsv" | awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["head"] != "all" { printf "| %s | %s | %s | %.3f | %.3f to %.3f | %.3g |\n", $at["layer"], $at["level"], $at["head"],
        $at["kappa"], $at["kappa_lo"], $at["kappa_hi"], $at["ceiling"] }')

## Figures
EOF
# The sentences of `hkt-plot list`, in its order; how each was made is in the first lines of its table.
n=0
hkt-plot list | while IFS="$(printf '\t')" read -r name table shows; do
    [ -e "$dir/figures/$name.png" ] || continue
    n=$((n + 1))
    printf '![%s](figures/%s.png)\n\nFigure %d, %s. %s From `%s`.\n\n' "$name" "$name" "$n" "$name" "$shows" "$table"
done
