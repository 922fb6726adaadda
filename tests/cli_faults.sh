#!/bin/sh
# Every call for memory and every write, sync, rename and creation of a file of five programs fails once, one after another
# (tests/fault.c): the status is as documented, no temporary file is left, old files are whole, and the same command
# succeeds afterwards. Slow: thousands of runs.
set -u
. "$HKT_SOURCE/tests/tap.sh"
if [ "${HKT_TIER:-fast}" != slow ] || ldd "$(command -v hkt-train)" | grep -q asan; then
    echo "1..0"
    exit 0
fi
${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -fPIC -shared "$HKT_SOURCE/tests/fault.c" -o fault.so -ldl || exit 1
so=$PWD/fault.so
export OMP_NUM_THREADS=1

small="--data d --max-len 20 --d-model 8 --heads 2 --layers 1 --levels 2 --batch-tokens 300 --warmup 2 --steps 3 --eval-every 3 --threads 1"
hkt-data listops --out d --train 40 --val 10 --test 10 --min-length 5 --max-length 20 --max-depth 4 --max-args 4 2>/dev/null || exit 1
hkt-train $small --out ready >/dev/null 2>&1 || exit 1

# faulty N COMMAND...: runs it with its N-th call failing; true when there was one. Its status is in $rc.
faulty() {
    n=$1
    shift
    rm -f hit
    FAULT_AT=$n FAULT_LOG=$PWD/hit LD_PRELOAD=$so "$@" >faulty.out 2>faulty.err
    rc=$?
    [ -e hit ]
}
left() { find . -name '*.tmp-*' -o -name '*.part' | head -n 1; }
wrong() { # wrong REASON
    echo "#   call $i ($(cat hit)), status $rc: $1: $(tail -n 1 faulty.err)"
    faults=$((faults + 1))
}
# each TEXT BEFORE AFTER COMMAND...: BEFORE and AFTER are shell functions, run before and after every fault. A command may
# succeed in spite of it where the message alone suffers.
each() {
    text=$1 before=$2 after=$3
    shift 3
    i=0 faults=0 survived=0
    while i=$((i + 1)) && $before && faulty $i "$@"; do
        case $rc in
        0) survived=$((survived + 1)) ;;
        5) [ "$(wc -l <faulty.err)" -ge 1 ] || wrong "no message" ;;
        *) wrong "expected status 5" ;;
        esac
        [ -z "$(left)" ] || wrong "left $(left)"
        $after "$@" || wrong "what is left or the next run"
        [ $faults -lt 10 ] || break
    done
    echo "# $text: $((i - 1)) calls failed, one after another; $survived times without consequence"
    check "$text: after each status, files and the next run are right" test $faults -eq 0 -a $i -gt 20
}
nothing() { :; }

fresh() { rm -rf run; }
trained() { # resumed to the same weights, whatever was left
    "$@" --resume >next.out 2>&1 && cmp -s run/last.safetensors ready/last.safetensors && cmp -s run/best.safetensors ready/best.safetensors
}
each "a training" fresh trained hkt-train $small --out run

half() { rm -rf run && cp -r ready run && cp run/state.safetensors before; }
resumed() {
    hkt-data check run >next.out 2>&1 && trained "$@"
}
each "a resumption" half resumed hkt-train $small --out run --resume

# whole COMMAND...: the rows of out.tsv when nothing fails
whole() { "$@" >/dev/null 2>&1 && cp out.tsv whole.tsv; }
old() { for f in out.tsv out.json; do echo old >$f; done; }
# Each output is the old file or a whole new one, and that when the command says so.
either() {
    for f in out.tsv out.json; do
        [ "$(cat $f)" = old ] || [ $f = out.tsv ] || [ "$(tail -n 1 $f)" = "}" ] || return 1
    done
    [ $rc -ne 0 ] || cmp -s out.tsv whole.tsv || return 1
    "$@" >next.out 2>&1
}
verify="hkt-verify asymmetry --quick --only unique --json out.json --tsv out.tsv --threads 1"
analyze="hkt-analyze bands --checkpoint ready/best.safetensors --data d --split val --out out.tsv --threads 1"
whole $verify
each "a verification" old either $verify
whole $analyze
each "an analysis" old either $analyze

fresh_data() { rm -rf made; }
# All three splits or none: there they may be when only what is said of them (data.json, standard output) failed.
whole_or_none() {
    if [ -e made ]; then
        [ "$(hkt-data check made | grep -c '	whole$')" -eq 3 ] && [ "$(find made -type f ! -name data.json | wc -l)" -eq 3 ] || return 1
        [ ! -e made/data.json ] || [ "$(tail -n 1 made/data.json)" = "}" ] || return 1
    fi
    [ $rc -ne 0 ] || [ -e made/data.json ] || return 1
    "$@" >next.out 2>&1
}
perl -e 'for my $p ("train", "test") { for my $c ("neg", "pos") { my $d = "aclImdb/$p/$c"; system "mkdir", "-p", $d;
    for my $i (0 .. 12499) { my $r = $c eq "neg" ? 2 : 9; open my $f, ">", "$d/${i}_$r.txt"; print $f "$c $i"; } } }'
tar cf imdb.tar aclImdb && rm -rf aclImdb
each "an import" fresh_data whole_or_none hkt-data imdb --from imdb.tar --out made
finish
