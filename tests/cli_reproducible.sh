#!/bin/sh
# What moves with OpenBLAS's core is what docs/reproducibility.md names, and no verdict does.
set -u
. "$HKT_SOURCE/tests/tap.sh"
page=$HKT_SOURCE/docs/reproducibility.md

hkt-data listops --out d --train 60 --val 20 --test 10 --min-length 5 --max-length 90 --seed 5 2>/dev/null || exit 1
hkt-train --data d --out run --steps 20 --eval-every 20 --batch-tokens 500 --layers 2 >/dev/null 2>&1 || exit 1
model="--checkpoint run/last.safetensors --data d --split val"
tables="ablate asymmetry bands cost decay describe errors gates inertia information kurtosis scores spectrum"

with() { # with CORE: everything in the directory CORE
    mkdir "$1"
    for what in $tables; do
        case $what in describe | cost) options="--checkpoint run/last.safetensors" ;; *) options=$model ;; esac
        # shellcheck disable=SC2086 # options are words
        OPENBLAS_CORETYPE=$1 hkt-analyze "$what" $options --out "$1/$what.tsv" >/dev/null 2>>"$1/log" || return 1
    done
    OPENBLAS_CORETYPE=$1 hkt-verify all --quick --tsv "$1/verify.tsv" >/dev/null 2>>"$1/log" || return 1
    # shellcheck disable=SC2086
    OPENBLAS_CORETYPE=$1 hkt-verify all --quick $model --tsv "$1/verify-model.tsv" >/dev/null 2>>"$1/log"
    [ -s "$1/verify-model.tsv" ]
}
check "every table and verdict, core Haswell" with Haswell
check "every table and verdict, core Prescott" with Prescott

# Prints the columns of table FILE, or with -v rows=1 the "claim check" of its rows, that differ between the two.
moved() {
    cp "Haswell/$2" one
    cp "Prescott/$2" two
    paste one two | awk -F '\t' -v rows="$1" 'NR == 1 { n = NF / 2; for (i = 1; i <= n; i++) name[i] = $i }
        { for (i = 1; i <= n; i++) if ($i != $(n + i)) print rows ? $1 " " $2 : name[i] }' | sort -u
}
# The row of the page that begins with a table's or a claim's name has all the words on standard input.
named() {
    row=$(grep -E "^\| \`?$1\`? \|" "$page" | tr -c 'a-z_0-9-' ' ')
    while read -r word; do
        case " $row " in *" ${word%_random} "*) ;; *) echo "$1: $word moves and is not named" && return 1 ;; esac
    done
}
for what in $tables; do
    moved 0 "$what.tsv" >columns
    check "hkt-analyze $what: as many rows" sh -c '[ $(wc -l <one) -gt 1 ] && [ $(wc -l <one) -eq $(wc -l <two) ]'
    named "$what" <columns >names.log
    result $? "hkt-analyze $what: only columns that the page names move: $(tr '\n' ' ' <columns)"
    cat names.log
done
for file in verify.tsv verify-model.tsv; do
    moved 1 $file >checks
    status=0
    while read -r claim name; do
        echo "$name" | named "$claim" || status=1
    done <checks
    result $status "$file: only values of checks that the page names move"
    cut -f 1,2 one >names
    cut -f 9 one | paste names - >verdicts.one
    cut -f 9 two | paste names - >verdicts.two
    check "$file: the same verdicts" cmp verdicts.one verdicts.two
done
check "control: something moves" test -n "$(moved 1 verify.tsv)"
sed 's/structure, //' "$page" >page.md
page=page.md
result "$(echo structure | named psd >/dev/null && echo 1 || echo 0)" "control: a check that the page does not name is found"
finish
