#!/bin/sh
# hkt-train as a program: kill -9 and --resume, threads, signals, config file, terminal, errors.
set -u
. "$HKT_SOURCE/tests/tap.sh"

data=d
hkt-data listops --out $data --train 300 --val 50 --test 50 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 \
    --seed 7 2>/dev/null || exit 1
small="--data $data --d-model 8 --heads 2 --layers 1 --levels 2 --batch-tokens 300 --warmup 10 --seed 3"

# --- resuming: 200 updates; and 100, kill -9, resume
long="$small --steps 200 --eval-every 50 --save-every 25"
hkt-train $long --out whole --threads 1 >whole.txt 2>whole.err
check "a run of 200 updates ends well" test $? -eq 0
check "the result is on standard output" grep -q '^best_val_accuracy	0\.' whole.txt
check "progress is plain lines without a terminal" sh -c '! grep -q "$(printf "\r")" whole.err && grep -q "^step 200/200 " whole.err'

killed=0
try=0
until [ $killed -eq 137 ] || [ $try -eq 5 ]; do # again when it ended before it was killed
    rm -rf cut
    hkt-train $long --out cut --threads 2 >/dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null && ! grep -q '^100	' cut/log.tsv 2>/dev/null; do sleep 0.005; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    killed=$?
    try=$((try + 1))
done
check "killed with -9 after update 100" test $killed -eq 137
cp cut/log.tsv at_kill.tsv
check "the log is complete when the run is killed" sh -c 'tail -n 1 at_kill.tsv | grep -q "^# ok" && grep -q "^100	" at_kill.tsv && ! grep -q "^200	" at_kill.tsv'
fails "an existing run without --resume is refused" 3 "cut: holds a run already" hkt-train $long --out cut
fails "another setting is named" 3 "setting 'lr': the run has 0.001, this command 0.002" hkt-train $long --out cut --resume --lr 0.002
hkt-train $long --out cut --threads 2 --resume >cut.txt 2>cut.err
check "resumed to the end" test $? -eq 0
check "last.safetensors is byte-identical" cmp whole/last.safetensors cut/last.safetensors
check "best.safetensors is byte-identical" cmp whole/best.safetensors cut/best.safetensors
columns whole/log.tsv >whole.columns
columns cut/log.tsv >cut.columns
check "log.tsv agrees but for the times" cmp whole.columns cut.columns
hkt-train $long --out cut --resume >again.txt 2>again.err
check "a complete run says so and succeeds" sh -c "test $? -eq 0 && grep -q 'the run is complete' again.err"
hkt-train $long --out kept --keep-checkpoints 5 >/dev/null 2>&1
check "--keep-checkpoints: the first weights and five more" test "$(ls kept/kept | tr '\n' ' ')" = \
    "step-00000000.safetensors step-00000040.safetensors step-00000080.safetensors step-00000120.safetensors step-00000160.safetensors step-00000200.safetensors "
check "the last one is the last checkpoint" cmp kept/kept/step-00000200.safetensors kept/last.safetensors
check "keeping changes nothing else" cmp kept/last.safetensors whole/last.safetensors
hkt-train $long --out other --seed 4 >/dev/null 2>&1
check "control: another seed gives other weights" sh -c '! cmp -s whole/last.safetensors other/last.safetensors'

# --- signals
for sig in INT TERM; do
    # A shell starts background jobs with SIGINT ignored; env restores it.
    env --default-signal=INT hkt-train $small --steps 1000000 --eval-every 1000 --out sig$sig >/dev/null 2>sig.err &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -e sig$sig/log.tsv ]; do sleep 0.005; done
    sleep 0.1
    kill -s $sig $pid
    wait $pid
    check "SIG$sig ends with status 5" test $? -eq 5
    check "SIG$sig: says how to resume" grep -q 'interrupted after step .* the same command with --resume continues' sig.err
done

# --- config file
cat >run.ini <<EOF
; a comment
[model]
d-model = 8
heads = 2
layers = 1
levels = 2
hybrid = false
[training]
data = $data
batch-tokens = 300
steps = 5
EOF
hkt-train --config run.ini --out ini --steps 6 >ini.txt 2>/dev/null
check "options from a config file; the command line wins" sh -c "test $? -eq 0 && grep -q '^steps	6' ini.txt && grep -q '\"hybrid\": false' ini/run.json"
echo 'bach-tokens = 3' >bad.ini
fails "a misspelt key in a config file" 2 "bad.ini:1: 'bach-tokens': unknown option (did you mean 'batch-tokens'?)" hkt-train --config bad.ini --data $data --out x
hkt-train $small --model mha --levels 3 --steps 2 --out mha >/dev/null 2>&1
check "mha is one level without convolution" sh -c 'grep -q "\"levels\": 1" mha/run.json && grep -q "\"hybrid\": false" mha/run.json'

# --- a terminal
# Not every container has pseudo-terminals.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "hkt-train $small --steps 400 --eval-every 100 --out tty" /dev/null >tty.txt 2>&1 </dev/null
    check "a progress line is rewritten on a terminal" sh -c 'tr "\r" "\n" <tty.txt | grep -q "step [0-9]*/400  loss [0-9.]*  accuracy .* tokens/s  [0-9:]* left"'
fi

# --- errors
fails "divergence stops the run" 4 "training diverged at step" hkt-train $small --steps 100 --lr 1e4 --out div
check "a good checkpoint is left by divergence" hkt-eval --checkpoint div/last.safetensors --data $data
fails "no data" 2 "option '--data' is required" hkt-train --out x
fails "no run directory" 2 "option '--out' is required" hkt-train --data $data
fails "an unknown option" 2 "unknown option '--leves' (did you mean '--levels'?)" hkt-train --leves 3
fails "an unknown model" 2 "expected hkt|mha, found 'rnn'" hkt-train $small --model rnn --out x
fails "heads that do not divide the width" 3 "heads" hkt-train $small --heads 3 --out x
fails "a missing split" 3 "nowhere" hkt-train --data nowhere --out x
fails "a sequence longer than --max-len" 3 "train.tsv:" hkt-train $small --max-len 10 --out x
check "nothing is left by a refused command" test ! -e x
: >file
fails "a file in the way of the run" 5 "file" hkt-train $small --out file
if [ "$(id -u)" != 0 ]; then
    mkdir ro && chmod 555 ro
    fails "a directory that cannot be written" 5 "ro" hkt-train $small --out ro/run
fi
finish
