#!/bin/sh
# The engine of the experiments on a tiny setting: runs what is missing, resumes what was cut, skips what is done, merges
# rows; and the committed settings: they parse, and an ablation differs from the table's setting in its own line.
. "$HKT_SOURCE/tests/tap.sh"
# Everything in a path with spaces, as it may be cloned into one.
mkdir 'a path' && cd 'a path' && ln -s "$BUILD/bin" 'the programs' || exit 1
here=$PWD bin="$PWD/the programs"
export bin
engine() {
    make -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$here" INI="$here/ini" THREADS=1 SEEDS='0 1' \
        TABLE='listops/hkt listops/mha' ABLATIONS='listops-levels-1/hkt' \
        PRIMARY= SECONDARY= LONGER= "$@"
}
rows() { sed 1d results/runs.tsv; }
mkdir -p ini
cat >ini/listops.ini <<END
; tiny
task = listops
max-len = 40
d-model = 8
heads = 2
layers = 1
steps = 6
eval-every = 3
batch-tokens = 200
lr = 0.01
warmup = 2
END
{ cat ini/listops.ini; echo "levels = 1"; } >ini/listops-levels-1.ini
hkt-data listops --out data/listops --train 60 --val 30 --test 41 --min-length 5 --max-length 40 2>/dev/null

engine list >list.txt
check "list: one line for each of six runs" sh -c '[ "$(grep -c "^make -s -C .* run/listops.*/[01] " list.txt)" -eq 6 ] && [ "$(wc -l <list.txt)" -eq 6 ]'
engine -j2 table >table.txt 2>table.err
check "table: two at a time" test $? -eq 0
check "table: a row per run" sh -c '[ "$(grep -c "^listops	" results/runs.tsv)" -eq 4 ]'
check "table: the columns" grep -qx "task	model	setting	seed	best_val_accuracy	test_accuracy	parameters	tokens_per_s	seconds	commit	.*" results/runs.tsv
check "table: no cell is empty" sh -c '! grep -q "		\|	$" results/runs.tsv'
right() { grep -v '^#' "runs/listops/$1/sequences.tsv" | sed 1d | cut -f 4; }
right hkt/0 >a.txt
right mha/1 >b.txt
check "agreement: every pair of the runs, and how many sequences both are right on" sh -c '[ "$(grep -c "^listops	" results/agreement.tsv)" -eq "$1" ] &&
    grep "^listops	hkt	main	0	mha	main	1	" results/agreement.tsv | grep -q "	$(paste a.txt b.txt | grep -c "^1	1$")$"' - "$(($(rows | wc -l) * ($(rows | wc -l) - 1) / 2))"
check "answers: a digit for four sequences, the last one filled up" sh -c '
    grep "^listops	mha	main	1	" results/answers.tsv | cut -f 6 | grep -qx "[0-9a-f]\{10\}[08]" &&
    [ "$(grep "^listops	mha	main	1	" results/answers.tsv | cut -f 6 | sed "s/./&\n/g" | sed "s/[1248]/1/; s/[3569ac]/2/; s/[7bde]/3/; s/f/4/" |
        awk "{ n += \$1 } END { print n }")" -eq "$(grep -c "^1$" b.txt)" ]'
cp results/agreement.tsv before.tsv
rm results/agreement.tsv
mv runs/listops/mha/1 held
engine collect >/dev/null
check "agreement: also with runs of which only the answers are here" cmp results/agreement.tsv before.tsv
mv held runs/listops/mha/1
check "table: validation accuracy over training" sh -c '[ "$(grep -c "^listops	hkt	main	0	" results/curves.tsv)" -eq 2 ]'
check "table: mean and deviation by awk" sh -c 'mean=$(grep "^listops	hkt	main" results/runs.tsv | cut -f 6 | awk "{ s += 100 * \$1 } END { printf \"%.2f\", s / NR }")
    grep -q "^| listops | main | hkt | 2 | $mean +- .* | [+-][0-9.]* +- [0-9.]* |" table.txt'
test_accuracy=$(hkt-eval --checkpoint runs/listops/mha/1/best.safetensors --data data/listops --split test --json - | sed -n 's/^ *"accuracy": \(.*\),/\1/p')
check "table: the test accuracy of the best checkpoint" test "$(rows | awk -F '\t' '$2 == "mha" && $4 == 1 { print $6 }')" = "$test_accuracy"
engine table >/dev/null 2>again.err
check "table: what is done is skipped" test ! -s again.err

fails "list: a setting without its ini" 2 "imdb/hkt/0: no file $here/ini/imdb.ini" engine list TABLE=imdb/hkt
engine list >list.txt
check "list: only what is missing" sh -c '[ "$(wc -l <list.txt)" -eq 2 ] && [ "$(grep -c run/listops-levels-1/hkt list.txt)" -eq 2 ]'
sh list.txt >/dev/null 2>&1
check "its lines run" test $? -eq 0
engine collect >/dev/null
check "collect: their rows, as another setting" test "$(rows | awk -F '\t' '$3 == "levels-1" { n++ } END { print n }')" -eq 2

# --- the rows that came with the repository
rm -r runs/listops/hkt
engine list >list.txt
check "a row in results/ counts as done" test ! -s list.txt
engine collect >/dev/null
check "and stays" test "$(rows | wc -l)" -eq 6
cp results/runs.tsv whole.tsv
head -c 600 whole.tsv >results/runs.tsv
fails "collect: a cut table is refused" 3 "results/runs.tsv: incomplete table: expected as many cells in the last row as in the first, and a line end" sh -c \
    'WORK=$PWD INI=$PWD/ini sh "$HKT_SOURCE/experiments/collect.sh"'
check "and not touched" test "$(wc -c <results/runs.tsv)" -eq 600
cp whole.tsv results/runs.tsv
engine again RUN=listops/hkt/1 >again.txt 2>/dev/null
check "again: the same digits, and nothing that is another here" test $? -eq 0 -a "$(cat again.txt)" = "listops/hkt/1: same digits"
sed 's/^listops\thkt\tmain\t1\t[^\t]*/listops\thkt\tmain\t1\t0.123/' results/runs.tsv >altered.tsv
cp results/runs.tsv good.tsv
cp altered.tsv results/runs.tsv
check "again: makes the data that it needs" sh -c 'make -s -n -C "$1/experiments" BIN="$2" WORK="$3/nothing" again RUN=listops/mha/2 |
    grep -q "hkt-data. listops --out .$3/nothing/data/listops. "' - "$HKT_SOURCE" "$bin" "$here"
for m in hkt mha; do
    make -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$here/both" data/listops >both-$m.txt 2>&1 &
done
wait
check "data: of two runs at once one makes them, the other waits" sh -c '[ "$(cat both-*.txt | grep -c "rows of 100..512 tokens")" -eq 1 ] &&
    ! grep -qi "error\|another process" both-*.txt'
rm -rf both
check "again: control, another recorded accuracy" sh -c '! "$@" >altered.txt 2>/dev/null' - make -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$here" INI="$here/ini" \
    THREADS=1 again RUN=listops/hkt/1
check "again: names the column, the difference and both values" sh -c '
    now=$(awk -F "\t" "\$2 == \"hkt\" && \$3 == \"main\" && \$4 == 1 { print \$5 }" good.tsv)
    by=$(awk -v x="$now" "BEGIN { d = x - 0.123; printf \"%.3g\", d < 0 ? -d : d }")
    [ "$(cat altered.txt)" = "listops/hkt/1: differs: best_val_accuracy by $by at most, in 1 of 1: recorded 0.123, again $now" ]'
# A table from before the reproducible arithmetic, from another machine, one value of which is missing.
awk -F '\t' -v OFS='\t' '$1 == "task" { for (i = 1; i <= NF; i++) { if ($i == "arithmetic") a = i; if ($i == "processor") p = i; if ($i == "isa") isa = i } }
    { if ($1 != "task") { $6 = "NA"; $isa = "none" }
      line = ""; for (i = 1; i <= NF; i++) if (i != a && i != p) line = line (line == "" ? "" : OFS) $i; print line }' good.tsv >results/runs.tsv
engine again RUN=listops/hkt/1 >old.txt 2>/dev/null
check "again: a value that is no number differs" sh -c 'test "$1" -ne 0 && grep -q "differs: test_accuracy by 0 at most, in 1 of 1: recorded NA, again 0" old.txt' - $?
check "again: says where the two were made differently" sh -c 'grep -qx "arithmetic: recorded old, here reproducible" old.txt &&
    grep -q "^processor: recorded NA, here ." old.txt && grep -q "^isa: recorded none, here [a-z]" old.txt && ! grep -q "^blas_core" old.txt'
engine collect >/dev/null
check "collect: rows of such a table are marked" sh -c '[ "$(grep -c "	old	NA	" results/runs.tsv)" -eq 2 ] && [ "$(grep -c "	reproducible	" results/runs.tsv)" -eq 4 ]'
cp good.tsv results/runs.tsv
grep -v '^listops	hkt	main	1' results/curves.tsv >cut.tsv
cp results/curves.tsv curves.tsv
cp cut.tsv results/curves.tsv
engine again RUN=listops/hkt/1 >curve.txt 2>/dev/null
check "again: a curve that is not recorded is a difference" sh -c 'test "$1" -ne 0 && grep -q "differs: 0 rows recorded, again 2" curve.txt' - $?
sed 's/^\(listops\thkt\tmain\t1\t[^\t]*\t[^\t]*\t\)[^\t]*/\19/' curves.tsv >results/curves.tsv
engine again RUN=listops/hkt/1 >curve.txt 2>/dev/null
check "again: so is a loss along the way" sh -c 'test "$1" -ne 0 && grep -q "differs: train_loss by .* in 2 of 2: recorded 9, again" curve.txt' - $?
cp curves.tsv results/curves.tsv

# --- resuming
grep -v '^listops	hkt	main	0' good.tsv >results/runs.tsv
sed -i 's/^steps = 6/; a comment changes nothing\nsteps = 6/' ini/listops.ini
engine list >list.txt
check "a comment in an ini makes nothing missing" test "$(grep -o 'run/[^ ]*' list.txt)" = run/listops/hkt/0
hkt-train --config ini/listops.ini --model hkt --seed 0 --data data/listops --out runs/listops/hkt/0 --save-every 50 --steps 6 >/dev/null 2>&1 &
pid=$!
while [ ! -e runs/listops/hkt/0/state.safetensors ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
engine table >/dev/null 2>resume.err
check "what was cut is resumed" grep -q '^resuming after step' resume.err
check "with the same result" test "$(rows | cut -f 1-7,13)" = "$(sed 1d good.tsv | cut -f 1-7,13)"
echo 'dropout = 0.2' >>ini/listops.ini
engine list >list.txt
check "a changed ini makes its runs missing" test "$(wc -l <list.txt)" -eq 4
engine table >/dev/null 2>changed.err
check "but does not overwrite a run with other settings" grep -q "runs/listops/.*run.json: setting 'dropout': the run has 0.1, this command 0.2" changed.err

# --- several at once, ends, data that changed
sed -i '/^dropout/d' ini/listops.ini
rm -r runs/listops results
engine table >/dev/null 2>first.err &
first=$!
engine table >/dev/null 2>second.err
wait $first
engine table >/dev/null 2>third.err
check "two tables at once: every run is trained once" sh -c '[ "$(cat first.err second.err | grep -c "^no saved state: starting at step 0")" -eq 4 ] &&
    [ ! -s third.err ]'
for i in 1 2 3 4 5 6; do engine collect >/dev/null 2>collect-$i.err & done
wait
check "six collects at once: all rows, no message" sh -c '[ "$(grep -c "^listops	" results/runs.tsv)" -eq 6 ] &&
    ! cat collect-*.err | grep .'
check "rows say what a run took, and its data" sh -c 'awk -F "\t" "!n { for (n = 1; n <= NF; n++) at[\$n] = n; next }
    { rows++; ok += \$at[\"cpu_seconds\"] > 0 && \$at[\"peak_bytes\"] > 1e6 && \$at[\"test_loss\"] > 0 && \$at[\"data\"] ~ /^[0-9a-f]+\$/ && \$at[\"test_data\"] ~ /^[0-9a-f]+\$/ }
    END { exit !(rows == 6 && ok == 6) }" results/runs.tsv'
sums=$(hkt-data inspect data/listops | sed -n 's/^checksum of .*: //p' | xargs)
check "the checksums of a row are those that inspect prints" sh -c '[ "$(awk -F "\t" "/^listops/ { print \$22, \$23; exit }" results/runs.tsv)" = "$1" ]' - "$sums"
check "list: one thread each" sh -c '! make -s -C "$HKT_SOURCE/experiments" WORK="$PWD/new" INI="$PWD/ini" SEEDS=0 TABLE=listops/hkt ABLATIONS= PRIMARY= SECONDARY= LONGER= list |
    grep -v "THREADS=.1." | grep .'
rm -r runs/listops/mha/1
grep -v '^listops	mha	main	1' results/runs.tsv >fewer.tsv
cp results/runs.tsv all.tsv
cp fewer.tsv results/runs.tsv
engine plan GOAL=all >plan.tsv 2>plan.err
check "plan: the run that is missing, its updates, what the finished ones took, and the sum" sh -c '[ "$(wc -l <plan.tsv)" -eq 3 ] &&
    awk -F "\t" -v took="$(awk -F "\t" "/^listops\tmha\tmain/ { print \$20 / 3600 }" results/runs.tsv)" "NR == 2 { d = \$6 - took
        exit !(\$1 == \"listops\" && \$2 == \"mha\" && \$3 == 1 && \$4 == 6 && \$5 > 6 && \$5 <= 6 * 200 && took > 0 && d <= 0.01 * took && d >= -0.01 * took && \$7 > 1 && \$8 == \"recorded\") }" plan.tsv &&
    grep -q "^all	NA	1	NA	" plan.tsv'
mv results none
engine plan GOAL=table TABLE=listops-levels-1/mha SEEDS=1 >plan.tsv 2>plan.err
check "plan: without finished runs it is timed" grep -q "^listops-levels-1	mha	1	6	.*	timed$" plan.tsv
mv none results
cp all.tsv results/runs.tsv
mv data/listops data/before
hkt-data listops --out data/listops --train 60 --val 30 --test 40 --min-length 5 --max-length 40 --seed 9 2>/dev/null
check "a run whose data changed is refused" sh -c '! make -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$PWD" INI="$PWD/ini" THREADS=1 SEEDS="0 1 2" \
    TABLE="listops/hkt listops/mha" ABLATIONS= PRIMARY= SECONDARY= LONGER= table 2>data.err && grep -q "listops/hkt/2: data: expected the checksums .* of the recorded runs, found" data.err &&
    [ ! -e runs/listops/hkt/2/run.json ]'
rm -r data/listops
mv data/before data/listops

rm -r runs/listops results
sed -i 's/^steps = 6/steps = 1000000/' ini/listops.ini
# Only make is told, not its group.
setsid make -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$here" INI="$here/ini" THREADS=1 SEEDS=0 TABLE=listops/hkt ABLATIONS= \
    PRIMARY= SECONDARY= LONGER= table >/dev/null 2>term.err &
making=$!
for i in $(seq 600); do [ -e runs/listops/hkt/0/log.tsv ] && break; sleep 0.1; done
check "a run is locked while it goes on" sh -c '! flock -n runs/listops/hkt/0/.lock true'
kill -TERM $making
wait $making
check "TERM to make ends its run, which has saved" sh -c 'flock -w 60 runs/listops/hkt/0/.lock true && grep -q "interrupted after step .*--resume continues" term.err'
wait
rm -r runs/listops
sed -i 's/^steps = 1000000/steps = 6/' ini/listops.ini
engine table >/dev/null 2>&1

# --- tuning
engine tune TASK=listops LRS='0.01 0.02' >tune.txt 2>/dev/null
check "tune: validation accuracy of both models, no test split" sh -c '[ "$(grep -c "^listops	[hm][kh][ta]	0\.0[12]	100	" tune.txt)" -eq 4 ] &&
    [ -z "$(find runs/tune -name test.json)" ]'

rm -r runs/tune/listops/hkt
engine tune TASK=listops LRS='0.02' >tune.txt 2>/dev/null
check "tune: rows that are not made anew stay" sh -c '[ "$(grep -c "^listops	[hm][kh][ta]	0\.0[12]	100	" tune.txt)" -eq 4 ] && ! ls results/tuning.tsv.* >/dev/null 2>&1'

# --- what the claims say of a trained model
engine measures MEASURED=listops/hkt/0 >summary.txt 2>measures.err
check "measures: every table is whole" sh -c 'for t in verify kurtosis asymmetry bands gates information inertia ablate; do
    [ -s "results/listops-$t.tsv.json" ] || exit 1; done; hkt-data check results'
check "measures: verdicts of every claim" sh -c '[ "$(sed 1d results/listops-verify.tsv | cut -f 1 | sort -u | wc -l)" -ge 9 ]'
check "measures: a line per layer and level" test "$(grep -c '^| listops | [0-9] | [0-9] |' summary.txt)" -eq \
    "$(grep '^lambda' results/listops-gates.tsv | wc -l)"
kappa=$(awk -F '\t' '$1 == 0 && $2 == 1 && $3 != "NA" { print $7 }' results/listops-kurtosis.tsv | sort -g | sed -n '1p; $p' | xargs printf '%.2f to %.2f')
check "measures: the summary has the tables' numbers" grep -qF "| listops | 0 | 1 | $kappa |" summary.txt
check "measures: the summary has the verdicts" sh -c '[ "$(grep -c "^| [a-z]* | [a-z0-9-]* | [A-Z]* (.*) |$" summary.txt)" -ge 20 ]'
check "measures: what must be trained first" sh -c 'make -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$PWD" INI="$PWD/ini" \
    measures MEASURED=imdb/hkt/0 2>&1 | grep -q "make -C experiments run/imdb/hkt/0"'

# --- data that are there are not downloaded again
mkdir -p data/imdb
: >data/imdb/train.safetensors
check "data: no archive is needed for what is there" sh -c '! make -n -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$PWD" \
    run/imdb/hkt/0 | grep -q fetch'
rm data/imdb/train.safetensors
check "data: otherwise it is fetched" sh -c 'make -n -s -C "$HKT_SOURCE/experiments" BIN="$bin" WORK="$PWD" run/imdb/hkt/0 | grep -q fetch'

# --- the committed settings
table=$HKT_SOURCE/experiments/listops.ini
for ini in "$HKT_SOURCE"/experiments/*.ini; do
    name=$(basename "$ini")
    check "$name is read" sh -c 'hkt-train --config "$1" 2>&1 | grep -q "^hkt-train: option .--data. is required$"' - "$ini"
    case $name in
    listops-stream* | listops-three*)
        check "$name differs from listops-stream.ini in nothing but the first weights" sh -c '
            for f in "${1%/*}/listops-stream.ini" "$1"; do sed "/^;/d; /^first-/d" "$f" ; done | sort | uniq -c | awk "\$1 != 2 { exit 1 }"' - "$ini"
        ;;
    listops-*)
        lines=$(for f in "$table" "$ini"; do grep -v '^;' "$f" | sort; done | sort | uniq -u | sed 's/ =.*//' | sort -u)
        want=1
        [ "$name" != listops-near-mha.ini ] || want=2 # two shares that only together start near MHA
        check "$name differs from listops.ini by $want" test "$(echo "$lines" | grep -c .)" -eq $want
        ;;
    esac
done
finish
