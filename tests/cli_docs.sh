#!/bin/sh
# What the documents say against what the programs and the committed tables say: numbers, the gallery of figures, links.
set -u
. "$HKT_SOURCE/tests/tap.sh"

# --- numbers of README.md, results.md and faq.md are made again from experiments/results
if command -v python3 >/dev/null 2>&1; then
    hkt-verify accuracy --results "$HKT_SOURCE/experiments/results" --json accuracy.json >/dev/null 2>&1
    check "numbers in the documents are those of the tables" python3 "$HKT_SOURCE/tests/docs_numbers.py" "$HKT_SOURCE" accuracy.json
    # Control: a digit of a document, or of a table, is changed.
    mkdir -p copy/docs copy/experiments copy/plots
    cp "$HKT_SOURCE/README.md" copy/
    cp "$HKT_SOURCE"/docs/*.md copy/docs/
    cp -r "$HKT_SOURCE/experiments/results" copy/experiments/
    cp "$HKT_SOURCE/plots/published.tsv" copy/plots/
    check "the same of a copy" python3 "$HKT_SOURCE/tests/docs_numbers.py" copy accuracy.json
    sed 's/| 35\.36 +- 0\.23 |/| 35.37 +- 0.23 |/' copy/docs/results.md >changed && cp changed copy/docs/results.md
    check "a changed digit is noticed" sh -c '! python3 "$HKT_SOURCE/tests/docs_numbers.py" copy accuracy.json | grep -v "^ok" >lacks; grep -q "^MISSING docs/results.md: | CIFAR-10 | 35.36" lacks'
else
    echo "# skipped: numbers in the documents: python3 is not installed"
fi
check "the verdicts of docs/verdicts.tsv are those of every check" sh -c '
    hkt-verify list --kinds | tail -n 1 | grep -q " $(($(wc -l <"$HKT_SOURCE/docs/verdicts.tsv") - 1))\$"'
check "README counts the checks" sh -c 'grep -q "by $(hkt-verify list --kinds | tail -n 1 | sed "s/.* //") checks" "$HKT_SOURCE/README.md"'

# --- the gallery has every figure of hkt-plot list, with its claim and the command that makes its input, and no other
sed -n 's/^| `\([a-z-]*\)` | `*\([a-z]*\)`* | `\([^`]*\)` .*/\1\t\2\t\3/p' "$HKT_SOURCE/docs/figures/README.md" | sort >gallery
hkt-plot list | cut -f 1,2,5 | sort >listed
check "the gallery is that of hkt-plot list" diff gallery listed
check "every picture of the gallery is there, and every picture is in it" sh -c '
    cd "$HKT_SOURCE/docs/figures" && for f in *.png *.svg; do grep -q "($f)" README.md || { echo "$f is in no row"; exit 1; }; done &&
    for f in $(grep -o "([a-z-]*\.[ps][nv]g)" README.md | tr -d "()"); do test -e "$f" || { echo "$f is missing"; exit 1; }; done'

# --- links within the documents lead somewhere
check "links lead to files" sh -c '
    cd "$HKT_SOURCE" && for d in README.md docs/*.md docs/figures/*.md experiments/README.md; do
        for l in $(grep -o "](\([^)#:]*\)[)#]" "$d" | sed "s/](//; s/[)#]//"); do
            [ -z "$l" ] || [ -e "$(dirname "$d")/$l" ] || { echo "$d: $l"; exit 1; }
        done
    done'
finish
