#!/bin/sh
# The tasks besides listops, from the published files to a trained model: hkt-data cifar10, imdb, fetch; hkt-train --task text.
# The files are made here in the published size, with little in them.
. "$HKT_SOURCE/tests/tap.sh"
refused() { # refused TEXT STATUS MESSAGE DIR COMMAND...: fails with one line, writes nothing into DIR
    text=$1 status=$2 message=$3 dir=$4
    shift 4
    "$@" >out.txt 2>err.txt
    found=$?
    [ $found -eq "$status" ] && grep -qF -- "$message" err.txt && [ ! -s out.txt ] && [ "$(wc -l <err.txt)" -eq 1 ] &&
        [ -z "$(find "$dir" -name '*safetensors*' -type f 2>/dev/null)" ]
    ok=$?
    [ $ok -eq 0 ] || { sed 's/^/# /' err.txt && echo "# status $found"; }
    result $ok "$text"
}

# --- imdb: 50,000 reviews in the published layout; id 7 of each folder is long, id 8 is not UTF-8
mkdir -p aclImdb/train/neg aclImdb/train/pos aclImdb/test/neg aclImdb/test/pos
LC_ALL=C awk 'BEGIN {
    for (i = 0; i < 3000; i++) long = long "x"
    split("train/neg train/pos test/neg test/pos", folder, " ")
    for (f = 1; f <= 4; f++)
        for (id = 0; id < 12500; id++) {
            file = "aclImdb/" folder[f] "/" id "_" (f % 2 ? 1 + id % 4 : 7 + id % 4) ".txt"
            printf "%s %d%s", folder[f], id, id == 7 ? long : id == 8 ? "\377" : "" >file
            close(file)
        }
}'
tar -cf imdb.tar aclImdb
gzip -1 -k imdb.tar
hkt-data imdb --from imdb.tar.gz --out imdb >imdb.txt 2>imdb.err
check "imdb: imported from .tar.gz" test $? -eq 0
check "imdb: counts as published, before the hold-out" sh -c 'grep -qE "^train +25000 " imdb.txt && grep -qE "^test +25000 " imdb.txt'
check "imdb: class shares" sh -c 'grep -qE "^neg +0\.5000 +0\.5000$" imdb.txt && grep -qE "^pos +0\.5000 +0\.5000$" imdb.txt'
check "imdb: histogram counts every row" test "$(awk '/^ *[0-9]+\.\.[0-9]+ / { s += $2 + $3 } END { print s }' imdb.txt)" = 50000
check "imdb: longer ones cut and counted, not UTF-8 counted" \
    test "$(grep -c ' rows longer than 1024, cut: 2; not valid UTF-8, kept as bytes: 2$' imdb.txt)" = 2
check "imdb: what is written" grep -qx 'written: 22500 train, 2500 val (held out of train), 25000 test' imdb.txt
hkt-data inspect imdb >inspect.txt
check "imdb: inspect reads it" sh -c 'grep -qE "^val +2500 +2500 +[0-9]+ +[0-9.]+ +[0-9]+ +0\.5000 +neg$" inspect.txt'
check "imdb: splits are disjoint" test "$(grep -c 'rows that occur in .*: 0$' inspect.txt)" = 3
hkt-data imdb --from aclImdb --out again >again.txt 2>/dev/null
check "imdb: a folder gives the same bytes" diff -r -x data.json imdb again
hkt-data imdb --from imdb.tar --out short --max-length 20 2>/dev/null | grep -q '^train rows longer than 20, cut: 2;'
check "imdb: --max-length" test $? -eq 0
hkt-train --data imdb --out imdb-run --steps 2 --d-model 4 --heads 1 --layers 1 --max-len 1024 >/dev/null 2>train.err
check "imdb: hkt-train" test $? -eq 0
check "imdb: the run says what it is of" grep -q '"task": "imdb"' imdb-run/run.json
check "imdb: hkt-eval" sh -c 'hkt-eval --checkpoint imdb-run/best.safetensors --data imdb --split val | grep -qx "majority baseline  0.5000"'
refused "imdb as listops" 3 "expected the file 'test.tsv'" none hkt-eval --checkpoint imdb-run/best.safetensors --task listops --data imdb
refused "imdb as cifar10" 3 "test.safetensors: metadata 'hkt.task': expected 'cifar10', found 'imdb'" none \
    hkt-eval --checkpoint imdb-run/best.safetensors --task cifar10 --data imdb

head -c 20000000 imdb.tar >cut.tar
refused "imdb: a cut archive" 3 "cut.tar: " x hkt-data imdb --from cut.tar --out x
head -c 100000 imdb.tar.gz >cut.tar.gz
refused "imdb: a cut .tar.gz" 3 "cut.tar.gz: the archive is damaged or cut short" x hkt-data imdb --from cut.tar.gz --out x
refused "imdb: no archive" 3 "imdb.txt: expected a .tar, .tar.gz or .tar.xz archive, found none" x hkt-data imdb --from imdb.txt --out x
mv aclImdb/test/pos elsewhere
refused "imdb: a missing folder" 3 "aclImdb: expected 12500 reviews in the folder 'test/pos', found 0" x hkt-data imdb --from aclImdb --out x
mv elsewhere aclImdb/test/pos
: >aclImdb/test/pos/9_8.txt
refused "imdb: an empty review" 3 "aclImdb: test/pos/9_8.txt: expected a review, found an empty file" x hkt-data imdb --from aclImdb --out x
mkdir full
ln -s /dev/full full/test.safetensors
refused "imdb: disk full" 5 "No space left on device" full hkt-data imdb --from imdb.tar --out full
( trap '' XFSZ; ulimit -f 300; hkt-data imdb --from imdb.tar --out limited >out.txt 2>err.txt; echo $? >rc.txt )
check "imdb: the disk is full half-way: the reason, and nothing is left" \
    sh -c '[ "$(cat rc.txt)" -eq 5 ] && grep -q "safetensors: cannot write: File too large" err.txt && [ ! -e limited ]'
check "imdb: a full standard output" sh -c 'hkt-data imdb --from imdb.tar --out short 2>/dev/null >/dev/full; [ $? -eq 5 ]'
rm -rf aclImdb imdb.tar imdb.tar.gz cut.tar cut.tar.gz again short

# --- cifar10: records of zeros are black aeroplanes
mkdir bin
for b in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do truncate -s 30730000 bin/$b.bin; done
hkt-data cifar10 --from bin --out cifar10 >cifar10.txt 2>/dev/null
check "cifar10: imported from a folder" test $? -eq 0
check "cifar10: counts as published" sh -c 'grep -qE "^train +50000 +1024 " cifar10.txt && grep -qE "^test +10000 +1024 " cifar10.txt'
check "cifar10: what is written" grep -qx 'written: 45000 train, 5000 val (held out of train), 10000 test' cifar10.txt
printf '\012' | dd of=bin/data_batch_2.bin bs=3073 seek=41 conv=notrunc 2>/dev/null
refused "cifar10: label 10" 3 "bin: data_batch_2.bin: record 41: expected a label 0..9, found 10" x hkt-data cifar10 --from bin --out x
truncate -s 30729999 bin/data_batch_1.bin
refused "cifar10: a record cut short" 3 "bin: data_batch_1.bin: record 9999: expected 3073 bytes, found 3072: the file is cut" x \
    hkt-data cifar10 --from bin --out x
truncate -s 30730000 bin/data_batch_1.bin
truncate -s 0 bin/data_batch_2.bin
truncate -s 30730000 bin/data_batch_2.bin
rm bin/data_batch_4.bin
refused "cifar10: a missing batch" 3 "bin: expected the file 'data_batch_4.bin', found none" x hkt-data cifar10 --from bin --out x
rm -rf bin cifar10

# --- own texts
awk 'BEGIN { for (i = 0; i < 600; i++) printf "%s\t%s%d\n", i % 2 ? "odd" : "even", i % 2 ? "aaaa" : "bb", i }' >own.tsv
small="--d-model 8 --heads 2 --layers 1 --batch-tokens 512"
hkt-train --train own.tsv --out own --epochs 4 --lr 0.01 --warmup 5 $small >own.txt 2>own.err
check "text: hkt-train --train FILE" test $? -eq 0
check "text: learns what is plain to see" sh -c 'hkt-eval --checkpoint own/best.safetensors --data own.tsv --split test |
    awk "/^accuracy/ { exit !(\$2 > 0.9) }"'
hkt-train --data own.tsv --out own2 --epochs 4 --lr 0.01 --warmup 5 $small >/dev/null 2>&1
check "text: --data FILE is the same" cmp own/last.safetensors own2/last.safetensors
hkt-train --task text --train own.tsv --out own3 --steps 1 --max-len 3 $small >/dev/null 2>own.err
check "text: longer ones are cut and counted" grep -qE '^cut to 3 tokens: [1-9][0-9]* of [0-9]+ training and [1-9][0-9]* of [0-9]+ validation sequences$' own.err
check "text: inspect names the classes" sh -c 'hkt-data inspect own.tsv | grep -qE "^even +0\.[45]"'
refused "text: --train with another task" 2 "option '--train' needs '--task text', found task 'imdb'" x hkt-train --task imdb --train own.tsv --out x
refused "text: --train and --data" 2 "expected one of '--data' and '--train', found both" x hkt-train --task text --train own.tsv --data own.tsv --out x
printf 'a\tx\nb\n' >bad.tsv
refused "text: a row without tab" 3 "bad.tsv:2: expected label<TAB>text, found 'b'" x hkt-train --task text --train bad.tsv --out x

# --- fetch, with a curl and an md5sum of our own
mkdir -p fake
cat >fake/curl <<'END'
#!/bin/sh
[ -n "$FAKE_CURL" ] || { echo "curl: (6) Could not resolve host: nowhere" >&2; exit 6; }
for a; do [ "$last" = --output ] && to=$a; last=$a; done
echo "$last" >url.txt
printf '%s' "$FAKE_CURL" >"$to"
END
cat >fake/md5sum <<'END'
#!/bin/sh
[ "$(cat "$2")" = genuine ] && echo "7c2ac02c03563afcf9b574c7e56c153a  $2" || echo "00000000000000000000000000000000  $2"
END
chmod +x fake/curl fake/md5sum
fetch() { PATH=$PWD/fake:$PATH hkt-data fetch "$@" >fetch.txt 2>fetch.err; }
FAKE_CURL='' fetch imdb --out down
check "fetch without network: status 5, says why" sh -c '[ $1 -eq 5 ] && grep -q "cannot download .*Could not resolve host" fetch.err' - $?
check "fetch without network: still says where it is, and its checksum" \
    sh -c 'grep -q "^page   https://ai.stanford.edu/" fetch.txt && grep -q "^md5    7c2ac02c03563afcf9b574c7e56c153a  aclImdb_v1.tar.gz$" fetch.txt'
FAKE_CURL=other fetch imdb --out down
check "fetch: another file than published is not kept" sh -c '[ $1 -eq 3 ] && grep -q "expected md5 7c2a.*, found 0000" fetch.err && [ -z "$(ls down)" ]' - $?
FAKE_CURL=genuine fetch imdb --out down
check "fetch: downloads, checks, says what is next" \
    sh -c '[ $1 -eq 0 ] && [ "$(cat down/aclImdb_v1.tar.gz)" = genuine ] && grep -qx "next   hkt-data imdb --from down/aclImdb_v1.tar.gz --out DIR" fetch.txt &&
    grep -qx "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz" url.txt' - $?
FAKE_CURL='' fetch imdb --out down
check "fetch: what is there is not downloaded again" sh -c '[ $1 -eq 0 ] && grep -q "is there already" fetch.err' - $?
fetch listops
check "fetch listops: generated" sh -c '[ $1 -eq 0 ] && grep -q "^listops is generated" fetch.txt' - $?
refused "fetch: unknown task" 2 "fetch: expected 'listops', 'cifar10' or 'imdb', found 'text'" x hkt-data fetch text
refused "fetch: no task" 2 "fetch: expected one task" x hkt-data fetch
refused "cifar10 without --from" 2 "option '--from' is required" x hkt-data cifar10 --out x
refused "cifar10 has no --max-length" 2 "cifar10: option '--max-length' has no effect" x hkt-data cifar10 --from bin --out x --max-length 9
refused "imdb has no --seed" 2 "imdb: option '--seed' has no effect" x hkt-data imdb --from bin --out x --seed 9
finish
