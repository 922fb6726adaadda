#!/bin/sh
# hkt-analyze as a program: its three tables, their form, and what it refuses.
set -u
. "$HKT_SOURCE/tests/tap.sh"

hkt-data listops --out d --train 60 --val 12 --test 12 --min-length 5 --max-length 30 --max-depth 4 --max-args 4 --seed 7 \
    2>/dev/null || exit 1
hkt-train --data d --d-model 8 --heads 2 --layers 2 --levels 2 --batch-tokens 300 --steps 4 --max-len 30 --out run \
    --keep-checkpoints 2 \
    >/dev/null 2>&1 || exit 1
best=run/best.safetensors
rows() { # rows FILE: its rows without # lines and column names
    sed 1d "$1"
}
column() { # column FILE NAME: the cells of a column
    awk -F '\t' -v name="$2" '!c { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1"
}
complete() { # complete FILE: beside it is how it was made, and its checksum
    grep -q '^    "command": ".*hkt-analyze' "$1.json" && grep -q '^    "version": ' "$1.json" && grep -q '^    "seed": ' "$1.json" &&
        ln "$1" checked.tsv && ln "$1.json" checked.tsv.json && hkt-data check . | grep -q '^./checked.tsv	whole$'
    rc=$?
    rm -f checked.tsv checked.tsv.json
    return $rc
}

# --- help
check "--help names the measurements" sh -c 'hkt-analyze --help | grep -q "^ *kurtosis " && hkt-analyze --help | grep -q "^ *cost "'

# --- kurtosis
check "kurtosis" hkt-analyze kurtosis --checkpoint $best --data d --out k.tsv --histogram h.tsv
check "beside the table is how to make it again" complete k.tsv
check "beside its histogram, too" complete h.tsv
check "a row per layer, level and head, and one for all heads" test "$(rows k.tsv | wc -l)" -eq 12
check "every row is ok" test "$(column k.tsv status | sort -u)" = ok
check "12 sequences" test "$(column k.tsv sequences | sort -u)" = 12
check "kappa lies in its interval and under its ceiling" awk -F '\t' '!h { h = 1; next }
    !($8 <= $7 && $7 <= $9 && $8 < $9 && $7 <= $16) { exit 1 }' k.tsv
check "head 'all' is of dimension 2" test "$(awk -F '\t' '$3 == "NA" { print $4 }' k.tsv | sort -u)" = 2
check "histogram: counts of a head add up to n" awk -F '\t' '
    FNR == 1 { file++ } /^layer/ { next }
    file == 1 && $3 != "NA" { n[$1, $2, $3] = $5 }
    file == 2 { n[$1, $2, $3] -= $7 }
    END { for (i in n) { heads++; if (n[i] != 0) exit 1 } exit heads != 8 }' k.tsv h.tsv
hkt-analyze kurtosis --checkpoint $best --data d >stdout.tsv
check "standard output by default" cmp stdout.tsv k.tsv
hkt-analyze kurtosis --checkpoint $best --data d --threads 1 --out t1.tsv
hkt-analyze kurtosis --checkpoint $best --data d --threads 2 --out t2.tsv
check "threads do not change the result" cmp t1.tsv t2.tsv
hkt-analyze kurtosis --checkpoint $best --data d --seed 3 --out s.tsv
check "another seed changes the intervals only" sh -c '! { cut -f 8 k.tsv >a; cut -f 8 s.tsv | cmp -s a -; } &&
    { cut -f 1-7 k.tsv >a; cut -f 1-7 s.tsv | cmp a -; }'
hkt-analyze kurtosis --checkpoint $best --data d --sequences 1 --out one.tsv
check "one sequence: no interval, and a warning" sh -c '! sed 1d one.tsv | grep -v "warning: no interval: .*2 units"'
hkt-analyze kurtosis --checkpoint $best --data d --split test --sequences 5 --out five.tsv
check "--sequences" test "$(column five.tsv sequences | sort -u)" = 5

# --- spectrum
check "spectrum of a sequence" hkt-analyze spectrum --checkpoint $best --data d --out g.tsv
check "spectrum of random tokens" hkt-analyze spectrum --checkpoint $best --tokens 20 --seed 1 --out r.tsv
check "untied heads: 4 positive, 4 negative of d = 8 eigenvalues" sh -c '
    test "$(grep "^form" g.tsv | cut -f 2-4,8 | sort | uniq -c | sed "s/^ *//; s/ .*//" | sort -u)" = 4'
check "levels 0, 1 and the sum" test "$(awk -F '\t' '$1 == "gram" { print $3 }' r.tsv | sort -u | tr '\n' ' ')" = "0 1 NA "

# --- cost
check "cost" hkt-analyze cost --levels 3 --tokens 4096 --out c.tsv
check "R reaches the bound for 21 lengths, the largest 41" sh -c '
    awk -F "\t" "\$1 == \"pairs\" && \$3 == 3 && \$9 == \"no\" { print \$5 }" c.tsv >a
    test "$(wc -l <a)" -eq 21 && test "$(sort -n a | tail -n 1)" -eq 41'
check "cost of a checkpoint's shape" sh -c "hkt-analyze cost --checkpoint $best --tokens 64 | cut -f 2 | grep -qx 8"

# --- the others: every table is complete and says what became of each row
for what in describe inertia asymmetry gates bands information errors decay ablate scores; do
    case $what in
    bands | information | gates | ablate) length='--sequences 8' ;;
    describe | errors | decay | scores) length='--tokens 20' ;;
    *) length= ;;
    esac
    # shellcheck disable=SC2086 # two words or none
    check "$what" hkt-analyze $what --checkpoint $best --data d $length --out $what.tsv
    check "$what: complete" complete $what.tsv
    check "$what: rows, each with a status" awk -F '\t' 'rows++ && $NF !~ /^(ok$|skipped: .|warning: .)/ { bad = 1 }
        END { exit bad || rows < 2 }' $what.tsv
done
check "bands: inputs, details and outputs" sh -c "
    test \"\$(sed 1d bands.tsv | cut -f 1 | sort -u | tr '\n' ' ')\" = 'detail output raw response '"
check "describe says what a measurement needs" sh -c "
    hkt-analyze describe --checkpoint $best | grep -q 'kurtosis	NA	skipped: needs --data'"
check "one head: forms are as large as the model" sh -c 'test "$(grep -c "^norm" asymmetry.tsv)" -eq 8'
check "alpha needs data" sh -c "hkt-analyze gates --checkpoint $best | grep -c '^alpha.*skipped: alpha depends on the data' | grep -qx 4"
check "errors: against another model" hkt-analyze errors --checkpoint $best --data d --tokens 20 \
    --target run/kept/step-00000000.safetensors --out e2.tsv
check "compare" hkt-analyze compare run/kept/step-00000000.safetensors $best --data d --out compare.tsv
check "compare: accuracy has an interval and a p-value" sh -c "
    grep '^accuracy' compare.tsv | awk -F '\t' '{ exit !(\$8 <= \$7 && \$7 <= \$9 && \$10 <= 1) }'"

# --- filters and JSON
check "--layer, --level, --head" sh -c "
    hkt-analyze kurtosis --checkpoint $best --data d --layer 1 --level 0 --head all | sed 1d | cut -f 1-3 | grep -qx '1	0	NA'"
check "a filter leaves the rest as it is" sh -c "
    hkt-analyze asymmetry --checkpoint $best --head 1 >a; awk -F '\t' 'NR == 1 || \$5 == 1' asymmetry.tsv | cmp a -"
layer0="hkt-analyze asymmetry --checkpoint $best --layer 0"
$layer0 >layer0.tsv
check "JSON into a file, beside the table" sh -c "$layer0 --json a.json | cmp layer0.tsv -"
check "JSON in the place of the table" sh -c "$layer0 --json - >b.json &&
    grep '^{\"quantity' a.json >a; grep '^{\"quantity' b.json | cmp a - && sed 1q b.json | grep -q '^{\"format'"
check "both into files" sh -c "$layer0 --json b.json --out both.tsv >both.out && cmp layer0.tsv both.tsv && ! [ -s both.out ] &&
    [ -s both.tsv.json ] && grep '^{\"quantity' b.json | cmp a -"
fails "both on standard output" 2 "option '--json': expected another file than that of '--out', found '-'" $layer0 --json - --out -
fails "a table with JSON's name" 2 "option '--out': expected a table's name ('--json' writes JSON), found 'x.json'" $layer0 --out x.json
if command -v python3 >/dev/null; then
    check "JSON is JSON, with the cells of the table" python3 -c "
import json
table = [line.rstrip('\n').split('\t') for line in open('asymmetry.tsv')]
names, rows = table[0], [row for row in table[1:] if row[1] == '0']
data = json.load(open('a.json'))
assert data['provenance']['command'].startswith('hkt-analyze asymmetry')
assert len(data['rows']) == len(rows) > 0
for row, cells in zip(data['rows'], rows):
    assert list(row) == names
    for name, text in zip(names, cells):
        value = row[name]
        assert text == 'NA' if value is None else value == text if isinstance(value, str) else value == float(text)
"
fi
check "scores as .npy" hkt-analyze scores --checkpoint $best --data d --tokens 9 --layer 0 --level 1 --head 1 --npy s.npy --out s.tsv
check "its shape is that of the level" sh -c "test \$(rows=\$(sed 1d s.tsv | wc -l); echo \$rows) -eq 25 && head -c 128 s.npy | grep -aq '(5, 5)'"

# --- over training
check "--run: a block of rows per kept checkpoint" sh -c "hkt-analyze asymmetry --run run --out r.tsv 2>/dev/null &&
    sed 1d r.tsv | cut -f 1 | uniq -c | sed 's/^ *//' >a && printf '44 0\n44 2\n44 4\n' | cmp a -"
check "each block is the table of its checkpoint" sh -c "
    hkt-analyze asymmetry --checkpoint run/kept/step-00000002.safetensors | sed 1d >a
    sed 1d r.tsv | awk '\$1 == 2' | cut -f 2- | cmp a -"
check "--run with data" sh -c "hkt-analyze kurtosis --run run --data d --sequences 3 --out rk.tsv 2>/dev/null &&
    test \$(sed 1d rk.tsv | wc -l) -eq 36"

# --- bad input: one line, a status, and no output
fails "no measurement" 2 "" hkt-analyze
fails "unknown measurement" 2 "kurtosis" hkt-analyze kurtois --checkpoint $best --data d
fails "unknown option" 2 "did you mean '--sequences'" hkt-analyze kurtosis --sequnces 3
for what in spectrum describe; do
    fails "$what: more tokens than the model takes" 2 "expected at most the longest sequence of the model" \
        hkt-analyze $what --checkpoint $best --tokens 100000
done
fails "no checkpoint" 2 "checkpoint" hkt-analyze kurtosis --data d
fails "no data" 2 "data" hkt-analyze kurtosis --checkpoint $best
fails "data for a cost" 2 "option '--data' has no effect on 'cost'" hkt-analyze cost --data d
fails "shape besides a checkpoint" 2 "option '--levels' has no effect with '--checkpoint'" hkt-analyze cost --checkpoint $best --levels 3
fails "shape for a model" 2 "option '--heads' is only for 'cost'" hkt-analyze describe --checkpoint $best --heads 2
fails "heads that do not divide the width" 2 "expected a divisor of '--d-model', 64, found 3" hkt-analyze cost --heads 3
fails "tokens besides data" 2 "option '--tokens' has no effect with '--data'" hkt-analyze spectrum --checkpoint $best --data d --tokens 9
fails "tokens without effect" 2 "option '--tokens' has no effect on 'kurtosis'" hkt-analyze kurtosis --checkpoint $best --data d --tokens 9
fails "sequences without effect" 2 "option '--sequences' has no effect on 'spectrum'" \
    hkt-analyze spectrum --checkpoint $best --data d --sequences 9
fails "sequences without data" 2 "option '--sequences' needs '--data'" hkt-analyze gates --checkpoint $best --sequences 9
fails "split without data" 2 "option '--split' needs '--data'" hkt-analyze asymmetry --checkpoint $best --split test
fails "histogram of something else" 2 "only for 'kurtosis'" hkt-analyze cost --histogram x.tsv
fails "one file for two tables" 2 "option '--histogram': expected another file than that of '--out', found 'x.tsv'" \
    hkt-analyze kurtosis --checkpoint $best --data d --out x.tsv --histogram x.tsv
fails "missing checkpoint" 3 "nowhere" hkt-analyze kurtosis --checkpoint nowhere --data d --out x.tsv
fails "missing data" 3 "nowhere" hkt-analyze kurtosis --checkpoint $best --data nowhere --out x.tsv
head -c 500 $best >cut.safetensors
fails "truncated checkpoint" 3 "cut.safetensors" hkt-analyze spectrum --checkpoint cut.safetensors --out x.tsv
hkt-data listops --out long --train 5 --val 5 --test 5 --min-length 40 --max-length 60 --seed 1 2>/dev/null
fails "sequence longer than the model" 3 "val.tsv" hkt-analyze kurtosis --checkpoint $best --data long --out x.tsv
fails "output in a directory that is not there" 5 "nowhere/x.tsv" hkt-analyze cost --out nowhere/x.tsv
fails "a row that is not there" 3 "expected a row with layer 7" hkt-analyze asymmetry --checkpoint $best --layer 7 --out x.tsv
echo keep >keep.tsv
fails "nor its histogram" 3 "expected a row with layer 9" hkt-analyze kurtosis --checkpoint $best --data d --layer 9 --histogram keep.tsv
check "and the file stays as it was" grep -qx keep keep.tsv
fails "a filter on no column" 2 "has no column 'layer'" hkt-analyze cost --layer 0 --out x.tsv
fails "npy of something else" 2 "only for 'scores'" hkt-analyze cost --npy x.npy --out x.tsv
fails "npy of more than one matrix" 2 "needs '--layer', '--level' and '--head'" \
    hkt-analyze scores --checkpoint $best --data d --npy x.npy --layer 0 --out x.tsv
for two in '--layer 0 --level 0' '--level 0 --head 0' '--layer 0 --head 0' '--head 0'; do
    fails "npy with $two alone" 2 "needs '--layer', '--level' and '--head'" \
        hkt-analyze scores --checkpoint $best --data d --npy x.npy $two --out x.tsv
done
fails "target of something else" 2 "only for 'errors'" hkt-analyze decay --checkpoint $best --data d --target $best --out x.tsv
fails "compare with one model" 2 "expected 2 checkpoints as operands, found 1" hkt-analyze compare $best --out x.tsv
fails "an operand too many" 2 "expected 0 checkpoints as operands, found 1" hkt-analyze cost $best --out x.tsv
fails "a run without kept checkpoints" 3 "--keep-checkpoints N keeps them" hkt-analyze asymmetry --run d --out x.tsv
fails "run and checkpoint" 2 "found both" hkt-analyze asymmetry --run run --checkpoint $best --out x.tsv
fails "run of what needs no weights" 2 "is not for 'cost'" hkt-analyze cost --run run --out x.tsv
cp $best mine.safetensors
fails "the table onto the checkpoint" 2 "option '--out': expected another file than that of '--checkpoint', found 'mine.safetensors'" \
    hkt-analyze asymmetry --checkpoint mine.safetensors --out mine.safetensors
fails "the table onto the second model" 2 "expected another file than that of '--checkpoint'" hkt-analyze compare $best mine.safetensors --data d --out ./mine.safetensors
fails "the histogram onto a split" 2 "expected a file outside of '--data', or a new one" hkt-analyze kurtosis --checkpoint $best --data d --histogram d/val.tsv --out x.tsv
fails "the table where no directory is" 5 "cannot create 'nowhere/x.tsv'" hkt-analyze asymmetry --checkpoint $best --out nowhere/x.tsv
check "the model is as it was" cmp $best mine.safetensors
check "no output was left" sh -c 'test ! -e x.tsv && test -z "$(find . -name "x.tsv*")"'
# --- a terminal is a person's
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "stty cols 80; hkt-analyze asymmetry --checkpoint $best --quiet" /dev/null </dev/null | tr -d '\r' >person
    check "columns are aligned within the width" sh -c 'test "$(awk "length > 80" person | wc -l)" -eq 0 && grep -q "^ *quantity\|^quantity  *layer  *level" person && ! grep -q "$(printf "\t")" person'
    check "numbers have four significant digits" sh -c '! grep -Eq "\.[0-9]*[1-9][0-9]{4}" person'
    hkt-analyze asymmetry --checkpoint $best --quiet >program 2>/dev/null
    check "elsewhere it is tab-separated with all digits" grep -Eq "$(printf '\t')0\.[0-9]{12}" program
    script -qec "hkt-analyze asymmetry --checkpoint $best --out a.tsv" /dev/null </dev/null | tr -d '\r' >next
    check "what to do next" grep -q '^next: hkt-plot all --from . --out figures$' next
fi
finish
