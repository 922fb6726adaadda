#!/bin/sh
# Habits of the terminal, the same in every program: `-`, SIGINT, a folder that cannot be written, a full disk, misspelt
# commands. Progress and --quiet: cli_progress.sh; -V, HKT_ISA: cli_dist.sh.
set -u
. "$HKT_SOURCE/tests/tap.sh"
hkt-data listops --out d --train 60 --val 12 --test 8 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 2>/dev/null
small="--data d --d-model 8 --heads 2 --layers 1 --levels 2 --batch-tokens 300 --max-len 30"
# shellcheck disable=SC2086
hkt-train $small --steps 3 --out r >/dev/null 2>&1
best=r/best.safetensors
mkdir t
hkt-analyze cost --out t/cost.tsv 2>/dev/null

# --- `-` is standard input where a file is read in one go; elsewhere it is refused
check "a configuration" sh -c "echo 'steps = 7' | hkt-train $small --config - --out c 2>/dev/null | grep -qx 'steps	7'"
fails "its faults" 2 "-:2: 'stepz': unknown option (did you mean 'steps'?)" sh -c "printf '\nstepz = 7\n' | hkt-train $small --config - --out x"
check "expected verdicts" sh -c 'hkt-verify cost --quick --expect - <"$HKT_SOURCE/docs/verdicts.tsv" | grep -qx "every verdict is as expected"'
check "which may be wrong" sh -c \
    'sed "s/HOLDS/VIOLATED/" "$HKT_SOURCE/docs/verdicts.tsv" | hkt-verify cost --quick --expect - >/dev/null 2>&1; [ $? -eq 1 ]'
fails "a table without its last line end" 3 "-: incomplete table" sh -c 'printf "claim\tcheck" | hkt-verify cost --quick --expect -'
if command -v python3 >/dev/null; then
    python3 - <<'P'
import os, struct, tarfile, io
with tarfile.open("c.tar", "w") as t:
    for name in ["data_batch_%d.bin" % i for i in range(1, 6)] + ["test_batch.bin"]:
        rows = b"".join(bytes([i % 10]) + bytes((i * 7 + k) % 251 for k in range(3072)) for i in range(20))
        entry = tarfile.TarInfo("cifar-10-batches-bin/" + name)
        entry.size = len(rows)
        t.addfile(entry, io.BytesIO(rows))
P
    hkt-data cifar10 --from c.tar --out named >/dev/null 2>named.err
    cat c.tar | hkt-data cifar10 --from - --out piped >/dev/null 2>piped.err
    sed 's/^hkt-data: c.tar:/hkt-data: -:/' named.err >expected.err
    check "an archive" cmp expected.err piped.err
fi
fails "an archive that is none" 3 "-: expected a .tar, .tar.gz or .tar.xz archive" sh -c 'echo x | hkt-data imdb --from - --out x'
hkt-verify cost --quick --json - >/dev/null 2>&1 </dev/null
check "no input is waited for when none is asked for" test $? -eq 0
sequential="'-': expected a file, as it is not read in one go; found standard input"
fails "a checkpoint" 3 "$sequential" hkt-eval --checkpoint - --data d
fails "scores" 3 "$sequential" hkt-analyze kurtosis --scores - - --mask causal
fails "a model" 3 "'-'" hkt-analyze inertia --model -
fails "a directory of data" 2 "option '--data': expected a directory, found '-'" hkt-eval --checkpoint $best --data -
fails "a directory of tables" 2 "option '--from': expected a directory, found '-'" hkt-plot all --from - --out x
fails "a directory of figures" 2 "option '--out': expected a directory, found '-'" hkt-plot all --from t --out -
fails "a run" 2 "option '--out': expected a directory, found '-'" hkt-train --data d --out -
check "hkt-check: its usage" sh -c 'hkt-check - 2>err; [ $? -eq 2 ] && grep -q "^usage" err'
: >./-
fails "though there is a file of that name" 3 "$sequential" hkt-eval --checkpoint - --data d
fails "which has another" 3 "./-: " hkt-eval --checkpoint ./- --data d
rm ./-

# --- SIGINT is status 130 and leaves nothing. A shell starts background jobs with SIGINT ignored; env restores it.
interrupted() { # interrupted TEXT COMMAND...: ended when its temporary file is there
    text=$1
    shift
    mkdir i
    env --default-signal=INT "$@" >/dev/null 2>i.err &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! ls i/*.tmp-* >/dev/null 2>&1; do sleep 0.005; done
    kill -s INT $pid
    wait $pid
    check "$text: SIGINT is status 130" test $? -eq 130
    check "$text: no temporary file is left" sh -c '! ls -A i | grep tmp-'
    rm -rf i
}
hkt-data listops --out long --train 60000 --val 9 --test 9 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 2>/dev/null
interrupted "hkt-analyze" hkt-analyze errors --checkpoint $best --data d --out i/errors.tsv --json i/errors.json
interrupted "hkt-eval" hkt-eval --checkpoint $best --data long --split train --sequences i/sequences.tsv
interrupted "hkt-analyze kurtosis" hkt-analyze kurtosis --checkpoint $best --data long --split train --sequences 0 --out i/k.tsv
for command in "hkt-bench psd --seq-len 50000000" "hkt-verify psd --tokens 10000000 --json i.json"; do
    # shellcheck disable=SC2086
    env --default-signal=INT $command >/dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! grep -q '^SigCgt:.*[2367abef]$' /proc/$pid/status; do sleep 0.01; done
    kill -s INT $pid
    wait $pid
    check "${command%% *}: SIGINT is status 130" test $? -eq 130
done
check "hkt-verify: nothing is left" sh -c '! ls | grep "^i\.json"'

# --- a full disk, with its reason
if [ -e /dev/full ]; then
    for command in "hkt-verify list" "hkt-verify explain psd" "hkt-verify cost --quick" "hkt-verify cost --quick --json -" \
        "hkt-analyze cost" "hkt-analyze cost --json -" "hkt-bench exp --repeats 1" "hkt-eval --checkpoint $best --data d" \
        "hkt-plot list" "hkt-data inspect d" "hkt-data check r" "hkt-train --help" "hkt-train -V" "hkt-train $small --steps 1 --out full" \
        "hkt-check --help"; do
        $command >/dev/full 2>full.err
        rc=$?
        check "full: $command" sh -c \
            '[ $1 -eq 5 ] && [ "$(grep -c "cannot write .standard output.: No space left on device" full.err)" = 1 ]' - $rc
    done
    ln -s /dev/full full.json
    fails "a full disk behind a name" 5 "cannot write '/dev/full': No space left on device" hkt-analyze cost --json full.json --out full.tsv
    check "and no table without it" test ! -e full.tsv
fi

# --- folders that cannot be written: one line, status 5. Root can write anywhere, and becomes nobody for it.
mkdir readonly && chmod 555 readonly
nobody=
[ "$(id -u)" != 0 ] || nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
if $nobody "$(command -v hkt-plot)" list >/dev/null 2>&1 && $nobody test -r t/cost.tsv; then
    plot="$nobody $(command -v hkt-plot)"
    denied() { # denied TEXT FILE COMMAND...: in one line
        name=$2
        fails "$1" 5 "cannot create$name: Permission denied" $3
        check "$1: in one line" test "$(wc -l <fails.err)" -eq 1
    }
    denied "hkt-plot: a figure" " 'readonly/figure'" "$plot cost --from t --out readonly"
    denied "hkt-plot: all" " 'readonly/figure'" "$plot all --from t --out readonly"
    denied "hkt-plot: a new directory" " directory 'readonly/new'" "$plot all --from t --out readonly/new"
    denied "hkt-plot: a report" " 'readonly/r.html'" "$plot report --from t --out readonly/r.html"
    denied "hkt-analyze" " 'readonly/c.tsv'" "$nobody $(command -v hkt-analyze) cost --out readonly/c.tsv"
    denied "hkt-analyze --json" " 'readonly/c.json'" "$nobody $(command -v hkt-analyze) cost --json readonly/c.json"
    denied "hkt-data" " directory 'readonly/d'" "$nobody $(command -v hkt-data) listops --out readonly/d"
else
    echo "# folders that cannot be written: another user cannot read this one: left out"
fi
: >file
fails "hkt-plot: a file in the way" 5 "cannot create directory 'file'" hkt-plot all --from t --out file

# --- misspelt commands
fails "hkt-verify" 2 "unknown command 'ps' (did you mean 'psd'?)" hkt-verify ps
fails "hkt-analyze" 2 "unknown command 'kurtosi' (did you mean 'kurtosis'?)" hkt-analyze kurtosi
fails "hkt-plot" 2 "unknown command 'scors' (did you mean 'scores'?)" hkt-plot scors
fails "hkt-bench" 2 "unknown command 'gem' (did you mean 'gemm'?)" hkt-bench gem
fails "hkt-data" 2 "unknown command 'inspct' (did you mean 'inspect'?)" hkt-data inspct
finish
