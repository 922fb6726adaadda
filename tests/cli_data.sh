#!/bin/sh
# hkt-data: what it writes, what it prints, what it refuses. Needs $BUILD; runs in a scratch directory.
set -u
data=$BUILD/bin/hkt-data
n=0
failed=0
check() { # check TEXT COMMAND...: ok when the command succeeds
    text=$1
    shift
    n=$((n + 1))
    if "$@" >check.log 2>&1; then
        echo "ok $n - $text"
    else
        echo "not ok $n - $text"
        sed 's/^/# /' check.log
        failed=1
    fi
}
# refuses STATUS MESSAGE ARG...: that exit status, that text on standard error, nothing on standard output
refuses() {
    status=$1
    message=$2
    shift 2
    "$data" "$@" >out 2>err
    found=$?
    cat err
    [ $found -eq "$status" ] && grep -qF -- "$message" err && [ ! -s out ] &&
        { [ "$status" -eq 2 ] || [ "$(wc -l <err)" -eq 1 ]; } # every bad option has its line, other failures one
}
no_splits() { # no_splits DIR: neither a split nor a temporary file
    [ -z "$(find "$1" -name '*.tsv*' -type f 2>/dev/null)" ]
}
rows() { # rows FILE: number of rows after the header
    sed 1d "$1" | wc -l
}
small='--train 200 --val 50 --test 60 --min-length 10 --max-length 80'

# --- help and version
"$data" --help >help.out 2>help.err
check '--help: status 0, on standard output' test $? -eq 0 -a -s help.out -a ! -s help.err
named() { # named FILE WORD...: every word stands in the file
    file=$1
    shift
    for word; do sed 's/\\-/-/g' "$file" | grep -q -- "$word" || { echo "$word is missing in $file"; return 1; }; done
}
words='listops cifar10 imdb fetch inspect check --out --from --preset --train --val --test --min-length --max-length --max-depth --max-args --seed --task'
check '--help names every command and option' named help.out $words
check 'the man page names every command and option' named "$HKT_SOURCE/docs/man/hkt-data.1" $words
check '--version' sh -c '"$1" --version | grep -q "^hkt-data .*[0-9]"' - "$data"
if command -v mandoc >/dev/null 2>&1; then
    check 'the man page lints' mandoc -Tlint -W warning "$HKT_SOURCE/docs/man/hkt-data.1"
fi

# --- listops
check 'listops writes' "$data" listops --out a $small --seed 3
check 'three files and how they were made, nothing else' sh -c '[ "$(ls a | tr "\n" " ")" = "data.json test.tsv train.tsv val.tsv " ]'
check 'how they were made is the command' grep -q '"command": ".*hkt-data listops --out a .*--seed 3"' a/data.json
check 'rows as asked for' test "$(rows a/train.tsv) $(rows a/val.tsv) $(rows a/test.tsv)" = '200 50 60'
check 'header' test "$(head -n 1 a/val.tsv)" = "$(printf 'Source\tTarget')"
awk -F '\t' 'FNR > 1 && (NF != 2 || $2 !~ /^[0-9]$/ || $1 ~ /[()]/ || $1 ~ /  | $|^ / || split($1, w, " ") < 10 || split($1, w, " ") > 80)' \
    a/*.tsv >bad-rows
check 'every row: two columns, single spaces, 10 to 80 tokens, a digit' test ! -s bad-rows
check 'no row twice in the three files' sh -c '[ -z "$(cat a/*.tsv | grep -v ^Source | sort | uniq -d)" ]'
"$data" listops --out b $small --seed 3 2>/dev/null
check 'the same seed gives the same bytes' diff -r -x data.json a b
"$data" listops --out c $small --seed 4 2>/dev/null
check 'another seed gives other bytes' sh -c '! cmp -s a/train.tsv c/train.tsv'
check 'an existing set is left alone' refuses 3 'c: has train.tsv already: --force writes the data set anew' listops --out c $small --seed 4
check 'with --force it is replaced' sh -c '"$1" listops --out c --force --train 200 --val 50 --test 60 --min-length 10 --max-length 80 --seed 3 &&
    diff -r -x data.json a c' - "$data"
"$data" listops --preset lra --out lra --train 20 --val 10 --test 10 2>/dev/null
awk -F '\t' 'FNR > 1 { k = split($1, w, " "); if (k <= 500 || k >= 2000) print k }' lra/*.tsv >bad-rows
check '--preset lra: 500 < length < 2000, options win over it' test ! -s bad-rows -a "$(rows lra/train.tsv)" -eq 20

# --- inspect
"$data" inspect a >inspect.out 2>inspect.err
check 'inspect: status 0, on standard output' test $? -eq 0 -a -s inspect.out -a ! -s inspect.err
outermost=$(awk -F '\t' 'FNR == 1 { file++; next }
    { op = substr($1, 1, 4) }
    file == 1 { count[op, $2]++; next }
    { best = 0; for (k = 1; k < 10; k++) if (count[op, k] > count[op, best]) best = k; n++; right += best == $2 }
    END { printf "%.4f", right / n }' a/train.tsv a/test.tsv)
check 'inspect: baseline of the outermost operator as counted by awk' test "$(awk '$1 == "test" { print $NF; exit }' inspect.out)" = "$outermost"
check 'inspect: rows' grep -qE '^train +200 +200 ' inspect.out
largest=$(sed 1d a/test.tsv | cut -f 2 | sort | uniq -c | sort -rn | awk 'NR == 1 { printf "%.4f", $1 / 60 }')
check 'inspect: majority baseline as counted by sort and uniq' sh -c 'grep "^test " inspect.out | head -n 1 | grep -q " $1 "' - "$largest"
length=$(sed 1d a/val.tsv | cut -f 1 | awk '{ s += NF; if (NR == 1 || NF < min) min = NF; if (NF > max) max = NF }
    END { printf "%d %.2f %d", min, s / NR, max }')
check 'inspect: lengths as counted by awk' sh -c 'grep "^val " inspect.out | head -n 1 | awk "{ print \$4, \$5, \$6 }" | grep -qx "$1"' - "$length"
check 'inspect: histogram counts every row' test "$(awk '/^ *[0-9]+\.\.[0-9]+ / { s += $2 + $3 + $4 } END { print s }' inspect.out)" = 310
check 'inspect: splits are disjoint' test "$(grep -c 'rows that occur in .*: 0$' inspect.out)" = 3
mkdir mixed
cp a/train.tsv a/val.tsv mixed
{ cat a/val.tsv; sed 1d a/val.tsv | head -n 7; } >mixed/test.tsv
"$data" inspect mixed >inspect.out
check 'inspect: a copied split is found' grep -qx 'test rows that occur in val: 57' inspect.out
check 'inspect: repeated rows are not distinct' grep -qE '^test +57 +50 ' inspect.out
mkdir original
for s in train val test; do
    printf 'Source\tTarget\r\n( ( ( [MAX 2 ) 9 ) ] )\t9\r\n( ( ( ( [SM 5 ) ( ( ( [MIN 4 ) 7 ) ] ) ) 6 ) ] )\t5\r\n' >original/basic_$s.tsv
done
check 'inspect: the files as LRA names and writes them' sh -c '"$1" inspect original | grep -qE "^train +2 +2 +4 +6\.00 +8 "' - "$data"
check 'inspect: a full standard output is status 5' sh -c '"$1" inspect a >/dev/full; [ $? -eq 5 ]' - "$data"

# --- usage
check 'no command' refuses 2 'expected a command'
check 'misspelt command' refuses 2 "did you mean 'listops'?" listop --out x
check 'misspelt option' refuses 2 "did you mean '--min-length'?" listops --out x --min-lenght 5
check 'no --out' refuses 2 '--out' listops
check 'operand of listops' refuses 2 "found 'y'" listops --out x y
check 'value out of range' refuses 2 '--max-args' listops --out x --max-args 1
check 'not a number' refuses 2 '--train' listops --out x --train many
check 'unknown preset' refuses 2 '--preset' listops --out x --preset lrb
check 'min above max' refuses 2 'min 90, max 80' listops --out x --min-length 90 --max-length 80
check 'a length out of reach' refuses 2 'expected at most 17' listops --out x --max-depth 3 --max-args 3
check 'inspect without directory' refuses 2 'expected one directory' inspect
check 'inspect with an option of listops' refuses 2 "inspect: option '--train' has no effect" inspect a --train 7
check 'an option without effect, also with its default' refuses 2 "inspect: option '--seed' has no effect" inspect a --seed 20260408
check 'fetch listops downloads nothing' refuses 2 "fetch listops: option '--out' has no effect" fetch listops --out x
check 'unknown task' refuses 2 '--task' inspect a --task sorting
check 'usage errors create nothing' test ! -e x
check 'a window with too few expressions' refuses 2 'expected 24000 different rows' listops --out few --min-length 1 --max-length 1
check 'and no directory is left' test ! -e few

# --- input and system
check 'inspect: no such directory' refuses 3 "absent: expected a directory of task 'listops', found nothing" inspect absent
check 'inspect: a file for a directory' refuses 3 "a/val.tsv: expected a directory of task 'listops', found a file" inspect a/val.tsv
mkdir empty
check 'inspect: no split in the directory' refuses 3 "empty: expected the file 'train.tsv' or 'basic_train.tsv'" inspect empty
mkdir broken
cp a/*.tsv broken
printf 'Source\tTarget\n[SM 5 5 ]\t1\n' >broken/val.tsv
check 'inspect: a wrong label' refuses 3 'broken/val.tsv:2: expected the label 0, the value of the expression, found 1' inspect broken
printf 'Source\tTarget\n[SM 5 5 ]\t10\n' >broken/val.tsv
check 'inspect: label 10' refuses 3 "broken/val.tsv:2: expected a label 0..9, found '10'" inspect broken
printf 'Source\tTarget\n[SM 5 5 ] 0\n' >broken/val.tsv
check 'inspect: no tab' refuses 3 'broken/val.tsv:2: expected a tab' inspect broken
printf 'Source\tTarget\n[SM 5 5\t0\n' >broken/val.tsv
check 'inspect: unbalanced brackets' refuses 3 "broken/val.tsv:2: token 4: expected 1 more ']'" inspect broken
: >broken/val.tsv
check 'inspect: empty file' refuses 3 'broken/val.tsv:1: expected the header' inspect broken
: >plain
check 'listops: --out is a file' refuses 5 plain listops --out plain $small
mkdir full
ln -s /dev/full full/train.tsv
check 'listops: disk full' refuses 5 'No space left on device' listops --out full --force $small
check 'and no split is left there' no_splits full
check 'listops: disk full half-way' sh -c 'ulimit -f 40; "$1" listops --out part 2>err; [ $? -eq 5 ] && cat err' - "$data"
check 'and the new directory is gone' test ! -e part
"$data" listops --out killed --train 2000000 --max-length 2000 >/dev/null 2>&1 &
pid=$!
while kill -0 $pid && [ -z "$(ls killed 2>/dev/null)" ]; do sleep 0.05; done
check 'two at a time in one directory' refuses 3 'killed: another process is writing into this directory' listops --out killed $small
kill -9 $pid
killed=$?
wait $pid 2>/dev/null
check 'killed: no split has its final name' test $killed -eq 0 -a ! -e killed/train.tsv -a ! -e killed/val.tsv -a ! -e killed/test.tsv
env --default-signal=INT "$data" listops --out stopped --train 50000000 2>/dev/null &
pid=$!
while kill -0 $pid 2>/dev/null && ! ls stopped/*.tmp-* >/dev/null 2>&1; do sleep 0.01; done
kill -s INT $pid
wait $pid
check 'SIGINT: status 130' test $? -eq 130
check 'SIGINT: no temporary file is left' sh -c '[ -d stopped ] && ! ls stopped | grep tmp-'
check 'killed: a rerun removes what it left' sh -c '"$1" listops --out killed --train 20 --val 5 --test 5 --seed 1 2>/dev/null &&
    [ "$(ls killed | tr "\n" " ")" = "data.json test.tsv train.tsv val.tsv " ]' - "$data"
rm -rf killed

echo "1..$n"
exit $failed
