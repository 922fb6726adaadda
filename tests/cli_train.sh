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
    name=$(cat /proc/$pid/comm 2>/dev/null)
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    killed=$?
    try=$((try + 1))
done
check "killed with -9 after update 100" test $killed -eq 137
check "is called hkt-train in the list of processes" test "$name" = hkt-train
cp cut/log.tsv at_kill.tsv
check "the log is complete when the run is killed" sh -c 'grep -q "^100	" at_kill.tsv && ! grep -q "^200	" at_kill.tsv'
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

# --- checksums
hkt-data check whole >check.txt
check "check: every file of a run is whole" sh -c "test $? -eq 0 && [ \$(grep -c '	whole\$' check.txt) -eq 4 ] && [ \$(wc -l <check.txt) -eq 4 ]"
# flip FILE OFFSET-FROM-THE-END: another byte there
flip() {
    at=$(($(wc -c <"$1") - $2))
    byte=$(od -An -tu1 -j$at -N1 "$1")
    printf "\\$(printf '%o' $((byte ^ 1)))" | dd of="$1" bs=1 seek=$at conv=notrunc 2>/dev/null
}
cp -r whole flipped
flip flipped/state.safetensors 3000
flip flipped/log.tsv 60
hkt-data check flipped >check.txt 2>check.err
check "check: says which are damaged, status 3" sh -c "test $? -eq 3 && grep -q '^flipped/state.safetensors	damaged: .*: tensor .[a-z]*.: expected checksum ' check.txt &&
    grep -q '^flipped/log.tsv	damaged: ' check.txt && [ \$(grep -c '	whole\$' check.txt) -eq 2 ] &&
    grep -qx 'hkt-data: flipped: expected whole files, found 2 of 4 damaged' check.err"
fails "resuming from a flipped byte" 3 "flipped/state.safetensors: tensor '" hkt-train $long --out flipped --resume
mkdir nothing
fails "check: nothing to check" 3 "nothing: expected safetensors files or tables of results, found none" hkt-data check nothing
fails "check: no directory" 3 "absent" hkt-data check absent

# --- signals
for sig in INT TERM HUP; do
    case $sig in INT) code=130 ;; TERM) code=143 ;; HUP) code=129 ;; esac
    # A shell starts background jobs with SIGINT ignored; env restores it.
    env --default-signal=INT,HUP hkt-train $small --steps 1000000 --eval-every 1000 --out sig$sig >/dev/null 2>sig.err &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -e sig$sig/log.tsv ]; do sleep 0.005; done
    sleep 0.1
    kill -s $sig $pid
    wait $pid
    check "SIG$sig ends with status $code" test $? -eq $code
    check "SIG$sig: says how to resume" grep -q 'interrupted after step .* the same command with --resume continues' sig.err
done

env --ignore-signal=HUP hkt-train $small --steps 1000000 --eval-every 1000 --out nohup >/dev/null 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -e nohup/log.tsv ]; do sleep 0.005; done
kill -s HUP $pid
sleep 0.3
check "under nohup SIGHUP is ignored" kill -s TERM $pid
wait $pid

# A limit on the size of files is met like a full disk: the state is larger than 4 blocks.
fails "a file larger than allowed" 5 "File too large" sh -c "ulimit -f 4; exec hkt-train $small --steps 5 --out large"
check "and nothing is left of it" test ! -e large

# A million epochs take minutes to count.
env --default-signal=INT hkt-train --data $data --d-model 8 --heads 2 --layers 1 --epochs 1000000 --out counting >/dev/null 2>sig.err &
pid=$!
# Until it catches SIGINT, the second bit of the mask.
while kill -0 $pid 2>/dev/null && ! grep -q '^SigCgt:.*[2367abef]$' /proc/$pid/status; do sleep 0.01; done
kill -s INT $pid
wait $pid
check "SIGINT before the first update ends at once with status 130" test $? -eq 130
check "and nothing is left" sh -c 'grep -q "interrupted before the first update: nothing was written" sig.err && [ ! -e counting ]'

# --- two at a time, and what a killed process leaves
hkt-train $small --steps 1000000 --eval-every 1000 --out race >/dev/null 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -e race/log.tsv ]; do sleep 0.005; done
fails "a second process in the directory" 3 "race: another process is writing into this directory" hkt-train $small --steps 1000000 --eval-every 1000 --out race --resume
for _ in 1 2 3 4 5; do
    rm -rf both
    hkt-train $small --steps 20 --out both --threads 1 >/dev/null 2>&1 &
    one=$!
    hkt-train $small --steps 20 --out both --threads 1 >/dev/null 2>&1
    echo $? >>both.rc
    wait $one
    echo $? >>both.rc
done
check "of two started at once one trains and one is refused" test "$(sort both.rc | tr '\n' ' ')" = "0 0 0 0 0 3 3 3 3 3 "
fails "the same without --resume" 3 "race: another process is writing into this directory" hkt-train $small --steps 5 --out race
kill -9 $pid
wait $pid 2>/dev/null
for f in state.safetensors log.tsv run.json; do : >race/$f.tmp-$pid-0; done
: >race/state.safetensors.tmp-$$-0 # of a process that is alive
env --default-signal=INT hkt-train $small --steps 1000000 --eval-every 1000 --out race --resume >/dev/null 2>&1 &
second=$!
while kill -0 $second 2>/dev/null && [ -e race/log.tsv.tmp-$pid-0 ]; do sleep 0.005; done
sleep 0.1
kill -s INT $second
wait $second
check "the lock goes with its process" test $? -eq 130
check "a resumed run removes its temporaries of the killed one, no others" test "$(echo race/*tmp-*)" = "race/state.safetensors.tmp-$$-0"

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
printf '[model]\nmodel = mha\nlevels = 3\nconv-width = 2\n[training]\nsteps = 2\n' >mha.ini
tiny="--data $data --d-model 8 --heads 2 --layers 1 --batch-tokens 300"
hkt-train --config mha.ini $tiny --out mha >/dev/null 2>&1
check "mha is one level without convolution" sh -c 'grep -q "\"levels\": 1" mha/run.json && grep -q "\"hybrid\": false" mha/run.json'

# --- a terminal
# Not every container has pseudo-terminals.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "hkt-train $small --steps 400 --eval-every 100 --out tty" /dev/null >tty.txt 2>&1 </dev/null
    check "a progress line is rewritten on a terminal" sh -c 'tr "\r" "\n" <tty.txt | grep -q "step [0-9]*/400  loss [0-9.]*  accuracy .* tokens/s  [0-9]* s left"'
fi

# --- errors
fails "divergence stops the run" 4 "training diverged at step" hkt-train $small --steps 100 --lr 1e4 --out div
check "a good checkpoint is left by divergence" hkt-eval --checkpoint div/last.safetensors --data $data
fails "no data" 2 "option '--data' is required" hkt-train --out x
fails "no run directory" 2 "option '--out' is required" hkt-train --data $data
fails "an unknown option" 2 "unknown option '--leves' (did you mean '--levels'?)" hkt-train --leves 3
fails "an unknown model" 2 "expected hkt|mha, found 'rnn'" hkt-train $small --model rnn --out x
fails "heads that do not divide the width" 2 "option '--heads': expected a divisor of '--d-model' 8, found 3" hkt-train $small --heads 3 --out x
printf 'heads = 5\nd-model = 8\n' >heads.ini
fails "also from a config file" 2 "option '--heads': expected a divisor of '--d-model' 8, found 5" hkt-train --config heads.ini --data $data --out x
fails "fixed downsampling with nothing to downsample" 2 "option '--fixed-downsampling': expected at least 2 levels, found 1" \
    hkt-train $small --levels 1 --fixed-downsampling --out x
fails "no attention and no convolution" 2 "option '--no-attention': expected a hybrid model" hkt-train $small --no-attention --no-hybrid --out x
fails "no attention and a first share of it" 2 "options '--first-attention' and '--no-attention': expected one, found both" \
    hkt-train $small --no-attention --first-attention 0.5 --out x
fails "one level has all the weight" 2 "first weight of level 0: expected at least 2 levels, found 1" hkt-train $small --levels 1 --first-level0 0.5 --out x
for option in "--levels 1" "--stride 2" "--conv-width 4" "--fusion dynamic" --no-hybrid --no-attention --fixed-downsampling "--first-attention 0.5" "--first-level0 0.5"; do
    fails "mha has no ${option% *}" 2 "option '${option% *}' has no effect with '--model mha'" hkt-train $tiny --model mha $option --out x
done
fails "one level has no stride" 2 "option '--stride' has no effect with one level" hkt-train $tiny --levels 1 --stride 2 --out x
fails "one level has no fusion" 2 "option '--fusion' has no effect with one level" hkt-train $tiny --levels 1 --fusion score --out x
fails "no convolution has no width" 2 "option '--conv-width' has no effect with '--no-hybrid'" hkt-train $tiny --no-hybrid --conv-width 4 --out x
fails "steps or epochs" 2 "option '--epochs' has no effect with '--steps'" hkt-train $tiny --steps 5 --epochs 10 --out x
fails "more than a model can have" 2 "expected an integer from 1 to 65536, found '65537'" hkt-train $tiny --d-model 65537 --out x
fails "more epochs than anyone can train" 2 "option '--epochs': expected an integer from 1 to 1000000" hkt-train $tiny --epochs 1000000000 --out x
fails "a missing directory" 3 "nowhere: expected a directory of task 'listops', found nothing" hkt-train --data nowhere --out x
hkt-data listops --out longer --train 10 --val 40 --test 10 --min-length 31 --max-length 60 --seed 7 2>/dev/null
cp $data/train.tsv longer
hkt-train --data longer --d-model 8 --heads 2 --layers 1 --levels 2 --steps 2 --out longer-run >/dev/null 2>&1
longest=$(sed 1d longer/val.tsv | cut -f 1 | awk 'NF > n { n = NF } END { print n }')
check "--max-len left out: the longest row of training and validation" grep -q "\"max_len\": $longest," longer-run/run.json
check "control: which is longer than the longest of training" test "$longest" -gt \
    "$(sed 1d longer/train.tsv | cut -f 1 | awk 'NF > n { n = NF } END { print n }')"
fails "a sequence longer than --max-len" 3 "tokens (hkt-train --max-len), found" hkt-train $small --max-len 10 --out x
if ! ldd "$(command -v hkt-train)" | grep -q asan; then # which needs more
    fails "out of memory at the start" 5 "parameters, batches of" \
        sh -c "ulimit -v 1000000; exec hkt-train --data $data --d-model 4096 --heads 2 --out x --threads 1"
    fails "says how much" 5 "out of memory: " \
        sh -c "ulimit -v 1000000; exec hkt-train --data $data --d-model 4096 --heads 2 --out x --threads 1"
fi
# --- names of any bytes
bytes=$(printf 'na\377me')
cp -r "$data" "$bytes"
hkt-train --data "$bytes" --d-model 8 --heads 2 --layers 1 --steps 5 --batch-tokens 300 --out "$bytes/run" >/dev/null 2>&1
check "a name that is not UTF-8 is escaped in run.json" sh -c "test $? -eq 0 && grep -qF '\"data_dir\": \"na\\\\xffme\"' '$bytes/run/run.json'"
hkt-eval --checkpoint "$bytes/run/best.safetensors" --data "$bytes" --json - >eval.json 2>/dev/null
check "and in the JSON of hkt-eval" sh -c "test $? -eq 0 && grep -qF 'na\\\\xffme/run/best' eval.json"
hkt-verify cost --quick --checkpoint "$bytes/run/best.safetensors" --json - >verify.json 2>/dev/null
check "and in that of hkt-verify" sh -c "test $? -eq 0 && grep -qF 'na\\\\xffme/run/best' verify.json"
hkt-analyze describe --checkpoint "$bytes/run/best.safetensors" --json - >describe.json 2>/dev/null
check "and of hkt-analyze" test $? -eq 0
hkt-train $small --steps 5 --seed 9007199254740993 --out whole-number >/dev/null 2>&1
check "a seed above 2^53 is a string" sh -c "grep -q '\"seed\": \"9007199254740993\"' whole-number/run.json"
sed -i 's/"9007199254740993"/9007199254740993/' whole-number/run.json
check "a number in a run of an older version" hkt-train $small --steps 5 --seed 9007199254740993 --out whole-number --resume

# --- too little for the libraries: said at once, where OpenBLAS would ask for ever and OpenMP end the process
if ! ldd "$(command -v hkt-train)" | grep -q asan; then
    for kb in 100000 150000 200000 300000; do
        timeout -s KILL 20 sh -c "ulimit -v $kb; exec hkt-train $small --steps 5 --threads 2 --out x" >/dev/null 2>little.err
        rc=$?
        # Less than the libraries themselves take: the loader says so.
        check "address space of $kb kB" sh -c "[ $rc -eq 5 ] && grep -q 'out of memory: OpenBLAS needs' little.err || [ $rc -eq 127 ]"
    done
fi
# Root is not limited: as another user, when that one can run the programs.
limited() {
    if [ "$(id -u)" = 0 ]; then
        set -- setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --nproc="$1" "$(command -v hkt-train)" $small --steps 5 --threads 4 --out x
    else
        set -- prlimit --nproc="$1" hkt-train $small --steps 5 --threads 4 --out x
    fi
    "$@"
}
if [ "$(id -u)" != 0 ] || setpriv --reuid 65534 --regid 65534 --clear-groups "$(command -v hkt-train)" --version >/dev/null 2>&1; then
    chmod 777 . # so that a run could be left
    fails "no thread can be made" 5 "cannot make threads: expected 4, found 1" limited 1
fi
check "nothing is left by a refused command" test ! -e x
: >file
fails "a file in the way of the run" 5 "file" hkt-train $small --out file
if [ "$(id -u)" != 0 ]; then
    mkdir ro && chmod 555 ro
    fails "a directory that cannot be written" 5 "ro" hkt-train $small --out ro/run
fi
finish
