#!/bin/sh
# hkt-verify as a program: verdicts and their files, checkpoints as columns, expectations, and errors.
set -u
. "$HKT_SOURCE/tests/tap.sh"
verdicts=$HKT_SOURCE/docs/verdicts.tsv

# --- without a model
check "cost verifies" sh -c 'hkt-verify cost >cost'
check "the 21 lengths at s = 2, L = 3" sh -c \
    'tr -s " \n" "  " <cost | grep -qF "for 21 T: 1 2 3 5 6 7 9 10 11 13 15 17 19 21 23 25 27 29 33 37 41; with L = 8 for 3944"'
check "a claim says in plain words what holds and what fails" sh -c \
    'tr -s " \n" "  " <cost | grep -qF "if s^(L-1) divides the length T. Fails: for other lengths the bound fails where T is short: with s = 2, L = 3 at 21 lengths, the last of them 41;"'
check "a finding names its condition" grep -Fq 'claim cost          HOLDS        R < s^2/(s^2 - 1), that is 4/3 at s = 2 [s^(L-1) divides T]' cost
check "and the one under which it is refuted" grep -Fq 'claim cost          VIOLATED     R < s^2/(s^2 - 1), that is 4/3 at s = 2 [T is any length' cost
check "checks of the method are counted apart" grep -Eq '^claim cost +- +2 of 2 checks of the method itself hold$' cost
check "VIOLATED is a result, not a failure" hkt-verify cost --only bound-any-length
check "--only shows the check's own numbers" sh -c \
    'hkt-verify cost --only bound-any-length | awk "\$1 == 2 && \$2 == 8 { n = \$3 } END { exit n != 3944 }"'
check "psd agrees with the committed verdicts" hkt-verify psd --quick --expect "$verdicts"
hkt-verify psd --quick >psd
check "certified checks are there" sh -c 'hkt-verify psd --quick --tsv - >psd.tsv && grep -Eq "^psd	rump-hilbert	certified	.*	HOLDS	" psd.tsv && grep -Eq "^psd	refusals	certified	.*	HOLDS	" psd.tsv'
check "what needs a checkpoint is skipped with the reason" sh -c \
    'grep -A 1 "negative-mass .* SKIPPED$" psd | grep -q "needs --checkpoint"'
check "list names every claim" sh -c 'hkt-verify list >l && for c in psd cost kurtosis; do grep -q "^$c (" l || exit 1; done'
check "list --kinds counts the checks of each kind; at least 30 are exact or certified" sh -c \
    'hkt-verify list --kinds | awk "/^all/ { exit !(\$2 + \$3 >= 30 && \$2 + \$3 + \$4 + \$5 + \$6 == \$7) }"'
fails "kinds of results" 2 "option '--kinds' has no effect but for 'list'" hkt-verify cost --kinds
check "explain gives statement, reference and failure of each check" sh -c \
    'hkt-verify explain psd >e && test "$(grep -c "VIOLATED would mean" e)" -eq "$(grep -c "^    reference" e)" && grep -q "  tied-gram (certified)" e'

cat >named.sh <<'END'
for claim in $(hkt-verify list | sed -n 's/^\([a-z]*\) (.*/\1/p'); do
    for name in $(hkt-verify explain "$claim" | sed -n 's/^  \([a-z0-9-]*\) (\(exact\|certified\|implementation\|statistical\|empirical\))$/\1/p'); do
        constant=hkt_${claim}_$(echo "$name" | tr - _)
        grep -rq "^const hkt_check $constant = {\$" "$HKT_SOURCE/analysis/claims/$claim" "$HKT_SOURCE/analysis/claims/foreign" || { echo "$constant"; exit 1; }
        count=$((${count:-0} + 1))
    done
done
[ "$count" -gt 80 ]
END
check "the constant of every check is found by the name that it prints" sh named.sh

# --- a model
hkt-data listops --out d --train 60 --val 40 --test 10 --min-length 20 --max-length 80 --max-depth 4 --max-args 4 \
    --seed 7 2>/dev/null || exit 1
for model in hkt mha; do
    hkt-train --data d --model $model --d-model 16 --heads 2 --layers 1 --batch-tokens 400 --steps 10 --max-len 80 \
        --out $model >/dev/null 2>&1 || exit 1
done
check "verifies a checkpoint on its data" sh -c \
    'hkt-verify psd --quick --checkpoint hkt/best.safetensors --data d --json one.json --tsv one.tsv >one'
check "checks about trained weights run" grep -Eq '^  negative-mass +empirical .* HOLDS$' one
check "kappa is said with its interval, its heads and the paper's number, in the table, TSV and JSON" sh -c \
    'hkt-verify kurtosis --quick --only trained --checkpoint hkt/best.safetensors --data d --tsv k.tsv --json k.json | tr -s " \n" "  " >k
     for f in k k.tsv k.json; do grep -Eq "kappa [0-9.]+ \[[0-9.]+, [0-9.]+\], median of [0-9]+ heads, 24 sequences: below the paper.s 33" $f || exit 1; done'
check "relation is a column between measured and bound" grep -Eq '^psd	negative-mass	empirical	[^	]*	[^	]*	[<>=]+	' one.tsv
check "JSON has all digits and provenance" sh -c \
    'grep -q "\"provenance\"" one.json && grep -Eq "\"measured\": -?[0-9.e-]{16,}" one.json'
check "JSON is well-formed" sh -c 'command -v python3 >/dev/null || exit 0; python3 -m json.tool one.json >/dev/null'
check "TSV" sh -c 'test -s one.tsv.json && grep -q "^psd	negative-mass	empirical	hkt/best.safetensors	" one.tsv'
check "two checkpoints are two rows of a check, each with bound, relation and margin" sh -c \
    'hkt-verify all --quick --checkpoint hkt/best.safetensors --checkpoint mha/best.safetensors --data d >two &&
     grep -A 4 "^  negative-mass  *empirical" two >each && for k in 1 2; do grep -Eq "^      \[$k\] +[0-9.e-]+ +[<>=]+ +[0-9.e-]+ +[0-9.e-]+  [A-Z]+$" each || exit 1; done'
check "several claims end with a table of findings" sh -c \
    'grep -Eq "^findings of +established +refuted +open +skipped +error" two && test "$(grep -Ec "^psd +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +0  3 of 3$" two)" -eq 2'
check "every claim is there, also without a model" sh -c \
    'hkt-verify all --quick --only closed-form >few && grep -q "^cost (4/3 bound)" few && for c in $(hkt-verify list | sed -n "s/^\([a-z]*\) (.*/\1/p"); do grep -q "^$c (" two || exit 1; done'

# --- recorded experiments
mkdir results
{
    printf 'task\tmodel\tsetting\tseed\ttest_accuracy\tmajority\ttest_sequences\tarithmetic\tconfig\n'
    for s in 0 1 2; do
        printf 'listops\thkt\tmain\t%s\t0.55%s\t0.16\t200000\treproducible\t1\n' $s $s
        printf 'listops\tmha\tmain\t%s\t0.50%s\t0.16\t200000\treproducible\t1\n' $s $s
    done
} >results/runs.tsv
check "accuracy without results is skipped with the reason" sh -c \
    'hkt-verify accuracy >a && test "$(grep -c "^  .* SKIPPED$" a)" -eq 8 && test "$(grep -c "^      needs --results DIR$" a)" -eq 8'
check "accuracy of recorded runs" sh -c 'hkt-verify accuracy --results results >accuracy'
check "its subject is the table, it has no seed" sh -c \
    'hkt-verify accuracy --results results --json a.json 2>err | grep -qx "\[1\] results" && ! grep -q seed err && grep -q "\"subject\": *\"results\"" a.json && ! grep -q "random models" a.json'
check "exact counts in full" grep -Eq '^  bound-any-length +exact +98655 +<= +0 +-98655  VIOLATED$' cost
check "checks of the method that hold are counted, not listed" sh -c '! grep -q "^  rump-hilbert" psd && grep -q "checks of the method itself hold$" psd'
# script gives a terminal: its size is what stty says
if command -v script >/dev/null 2>&1; then
    script -qec "stty cols 60; hkt-verify cost --quick 2>/dev/null" /dev/null </dev/null 2>/dev/null | tr -d "\r" >screen
    check "verdicts are coloured on a terminal" sh -c 'grep -q "$(printf "\033")\[31mVIOLATED" screen'
    check "lines fit the terminal" sh -c 'sed "s/$(printf "\033")\[[0-9;]*m//g" screen | awk "length > 60 { exit 1 }"'
    NO_COLOR=1 script -qec "stty cols 60; hkt-verify cost --quick 2>/dev/null" /dev/null </dev/null >plain 2>/dev/null
    check "not with NO_COLOR" sh -c '! grep -q "$(printf "\033")" plain && grep -q VIOLATED plain'
fi
check "no colour in a file" sh -c '! grep -q "$(printf "\033")" cost'
check "HKT over MHA with its interval" grep -Eq '^  hkt-over-mha +statistical +4\.4081 +> +0 +4\.4081  HOLDS$' accuracy
check "what is stated of it, with the interval" grep -q 'HKT - MHA, points: listops +5.00 \[4.41, 5.59\] above' accuracy
check "the table of comparisons" grep -Eq '^      listops +main +above +3 +55\.1 +50\.1 +5 +4\.4' accuracy
check "what there are no runs of is skipped" grep -Eq '^  ablations .* SKIPPED$' accuracy
check "all takes results as well" sh -c \
    'hkt-verify all --quick --only hkt-over-mha --results results | grep -Eq "^  hkt-over-mha .* HOLDS$"'
sed 's/0\.551/nan/' results/runs.tsv >x && mkdir bad && mv x bad/runs.tsv
check "the table fits 100 columns" sh -c 'for t in cost psd one two l e accuracy; do awk "length > 100 { exit 1 }" $t || exit 1; done'
hkt-verify kurtosis --quick --only trained --checkpoint hkt/best.safetensors --data d --threads 1 >a
hkt-verify kurtosis --quick --only trained --checkpoint hkt/best.safetensors --data d --threads 2 >b
check "threads do not change the numbers" cmp a b
check "kappa by layer, level and head with its ceiling" sh -c 'grep -Eq "layer +level +head +kappa +low +high +reference +ceiling" a'
hkt-verify cost --tsv - >stdout
check "--tsv - is the table alone" sh -c 'test "$(head -n 1 stdout | cut -f 1-3)" = "claim	check	kind" && ! sed 1d stdout | grep -v "^cost	"'

# --- expectations
printf 'claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tbound-any-length\tHOLDS\tHOLDS\tHOLDS\n' >wrong
hkt-verify cost --only bound-any-length --expect wrong >differs
check "a verdict not as expected is status 1 and named" sh -c \
    "test $? -eq 1 && grep -q 'cost bound-any-length (random models): expected HOLDS, found VIOLATED' differs"
printf 'claim\tcheck\trandom\tcheckpoint\tone_level\ncost\tno-such\tHOLDS\tHOLDS\tHOLDS\n' >unknown
hkt-verify cost --only closed-form --expect unknown >/dev/null 2>err
check "a table with an unknown check is bad input" sh -c "test $? -eq 3 && grep -q \"no check 'no-such'\" err"
hkt-verify cost --only closed-form --expect missing >/dev/null 2>err
check "so is a missing table" sh -c "test $? -eq 3 && grep -q missing err"

# --- errors: one line, nothing on standard output, no file left
fails "unknown claim" 2 "did you mean 'cost'?" hkt-verify costs
fails "unknown check" 2 "unknown check 'tied-grm' (did you mean 'tied-gram'?)" hkt-verify psd --only tied-grm
fails "a check of another claim" 2 "unknown check 'closed-form'" hkt-verify psd --only closed-form
fails "explain without a claim" 2 "explain: expected one claim, found 0" hkt-verify explain
fails "explain an unknown claim" 2 "unknown claim 'costs' (did you mean 'cost'?)" hkt-verify explain costs
fails "two commands" 2 "expected one command, found 'cost' as well" hkt-verify psd cost
fails "data without a checkpoint" 2 "option '--data' needs '--checkpoint'" hkt-verify psd --data d
fails "a task without data" 2 "option '--task' needs '--data'" hkt-verify psd --task imdb
fails "a split without data" 2 "option '--split' needs '--data'" hkt-verify psd --split test
fails "list with an operand" 2 "expected one command, found 'psd' as well" hkt-verify list psd
fails "explain with two claims" 2 "explain: expected one claim, found 2" hkt-verify explain psd cost
fails "two outputs to one file" 2 "option '--tsv': expected another file than that of '--json', found 'x.json'" hkt-verify cost --json x.json --tsv x.json
fails "two outputs to standard output" 2 "only one of '--json' and '--tsv'" hkt-verify cost --json - --tsv -
fails "no results there" 3 "nowhere/runs.tsv" hkt-verify accuracy --results nowhere
fails "a result that is no number" 3 "bad/runs.tsv:4: column 'test_accuracy': expected a number in 0..1, found 'nan'" \
    hkt-verify accuracy --results bad --json x.json
fails "missing checkpoint" 3 "none.safetensors" hkt-verify psd --checkpoint none.safetensors --json x.json
head -c 1000 hkt/best.safetensors >cut.safetensors
fails "cut checkpoint" 3 "cut.safetensors" hkt-verify psd --checkpoint cut.safetensors --json x.json
fails "no data there" 3 "nowhere" hkt-verify psd --checkpoint hkt/best.safetensors --data nowhere
cp hkt/best.safetensors mine.safetensors
fails "json onto the checkpoint" 2 "option '--json': expected another file than that of '--checkpoint', found 'mine.safetensors'" \
    hkt-verify cost --checkpoint mine.safetensors --json mine.safetensors
fails "tsv onto the expected verdicts" 2 "another file than that of '--expect'" hkt-verify cost --expect mine.safetensors --tsv ./mine.safetensors
fails "json onto a split" 2 "expected a file outside of '--data', or a new one" hkt-verify cost --checkpoint mine.safetensors --data d --json d/val.tsv
check "the files are as they were" cmp hkt/best.safetensors mine.safetensors
fails "an output where no directory is, before any work" 5 "cannot create 'nowhere/x.json': No such file" hkt-verify all --json nowhere/x.json
hkt-verify decay --only monotone --checkpoint hkt/best.safetensors --tokens 100 >/dev/null 2>tokens.err
check "sequences are cut aloud" grep -q 'hkt/best.safetensors: sequences of 80 tokens, its most, instead of 100' tokens.err
fails "more tokens than checks can take" 2 "option '--tokens': expected at most 4096" hkt-verify cost --tokens 4097
printf 'a\tb\n1\t2\n' >columns.tsv
fails "expected verdicts without their columns, before any work" 3 "columns.tsv: expected a column 'claim', found none" hkt-verify all --expect columns.tsv
check "the seed is printed" sh -c 'hkt-verify cost --quick --only closed-form --seed 7 2>&1 >/dev/null | grep -qx "seed 7"'
check "failures leave no output" sh -c '! ls x.json* >/dev/null 2>&1'
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "hkt-verify cost --quick --json verify.json" /dev/null </dev/null | tr -d '\r' >next
    check "what to look at next" sh -c 'grep -qx "next: hkt-verify cost --only bound-any-length" next && grep -qx "next: hkt-plot report --from . --out report.html" next'
    check "nothing of it with --quiet" sh -c '! script -qec "hkt-verify cost --quick --quiet" /dev/null </dev/null | grep -q next:'
fi
finish
