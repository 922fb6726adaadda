#!/bin/sh
# Progress: on a terminal every program that may take long says where it is and how long it will take; nothing of it is
# written with --quiet, into a file within the first seconds, or onto standard output. The lines of longer runs into a file:
# tests/test_tsv.c.
set -u
. "$HKT_SOURCE/tests/tap.sh"
script -qec true /dev/null >/dev/null 2>&1 </dev/null || { echo "1..0 # no pseudo-terminals here"; exit 0; }
small="--d-model 8 --heads 2 --layers 2 --levels 2 --batch-tokens 300 --max-len 30"
hkt-data listops --out d --train 40 --val 12 --test 8 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 2>/dev/null
# shellcheck disable=SC2086
hkt-train --data d $small --steps 3 --out r >/dev/null 2>&1
best="--checkpoint r/best.safetensors"
# shows TEXT PATTERN COMMAND: a progress line of it; none of it with --quiet, and the same output into a file
shows() {
    text=$1 pattern=$2 command=$3
    script -qec "$command" /dev/null >tty.txt 2>&1 </dev/null
    tr '\r' '\n' <tty.txt | sed 's/\x1b\[K//' >lines.txt
    check "$text" grep -qE "$pattern" lines.txt
    script -qec "$command --quiet" /dev/null >quiet.txt 2>&1 </dev/null
    check "$text: --quiet" sh -c '! grep -qE "$1|\[K" quiet.txt' - "$pattern"
    $command >out.txt 2>err.txt
    check "$text: not into a file at once" sh -c '[ -s out.txt ] && ! grep -qE "$1" out.txt err.txt' - "$pattern"
}
shows "hkt-verify" '^check [2-9] of 11, bands [a-z0-9-]*: about [0-9]+ s left; random models$' "hkt-verify bands --quick"
shows "hkt-bench" '^repeat 2 of 3, [0-9]+ s left$' "hkt-bench psd --seq-len 4096 --repeats 3"
shows "hkt-eval" '^evaluation: sequence 8 of 8, 0 s left$' "hkt-eval $best --data d"
shows "hkt-analyze ablate" '^ablate: part [2-9] of [0-9]+, [0-9]+ s left$' "hkt-analyze ablate $best --data d"
shows "hkt-analyze errors" '^errors: head [2-4] of 4, [0-9]+ s left$' "hkt-analyze errors $best --data d --tokens 20"
shows "hkt-analyze decay" '^decay: [a-z ]+, [2-4] of 4, [0-9]+ s left$' "hkt-analyze decay $best --data d --tokens 20"
shows "hkt-analyze bands" '^[a-z ]*: sequence [0-9]+ of 12(, [0-9]+ s left)?$' "hkt-analyze bands $best --data d"
shows "hkt-analyze kurtosis" '^scores: sequence [0-9]+ of 12, [0-9]+ s left$' "hkt-analyze kurtosis $best --data d"
mkdir plots && cp r/log.tsv r/log.tsv.json plots
hkt-analyze cost --out plots/cost.tsv 2>/dev/null
if command -v gnuplot >/dev/null; then
    shows "hkt-plot" '^figure [2-9] of [0-9]+, [a-z]+, [0-9]+ (s|min) left$' "hkt-plot all --from plots --out figures --format svg"
fi
script -qec "hkt-data listops --out more --train 3000 --val 9 --test 9 --min-length 5 --max-length 99 --max-depth 5" /dev/null \
    >tty.txt 2>&1 </dev/null
check "hkt-data listops" sh -c 'tr "\r" "\n" <tty.txt | grep -qE "^split 3 of 3, row [0-9]+ of 3000"'

# --- an estimate before a long run, after its first updates
long="hkt-train --data d $small --steps 1000000 --eval-every 1000000 --out long"
# says TEXT PATTERN OPTION...: a line of the long run, which is ended when it is there
says() {
    text=$1 pattern=$2 n=0
    shift 2
    $long "$@" 2>err.txt &
    while [ $n -lt 200 ] && ! grep -qE "$pattern" err.txt; do n=$((n + 1)); sleep 0.1; done
    kill -TERM $!
    wait $!
    check "$text" grep -qE "$pattern" err.txt
}
says "how long a long run takes" '^1000000 steps, about [0-9]+ (min|h [0-9]+ min)$'
says "what is left of it" '^[0-9]+ of 1000000 steps, about [0-9]+ (min|h [0-9]+ min)$' --resume
timeout 4 $long --resume --quiet 2>err.txt
check "--quiet: only what ended it" sh -c '[ $(wc -l <err.txt) = 1 ] && grep -q "^hkt-train: interrupted" err.txt'
# shellcheck disable=SC2086
hkt-train --data d $small --steps 9 --out short >/dev/null 2>err.txt
check "a short run says nothing of it" sh -c '! grep -q about err.txt'
finish
