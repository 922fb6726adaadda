#!/bin/sh
# hkt-plot as a program: every figure in every format and width, the same bytes twice, and what it refuses.
set -u
. "$HKT_SOURCE/tests/tap.sh"
command -v gnuplot >/dev/null || { echo "1..0 # gnuplot is not installed"; exit 0; }
export HKT_PLOTS="$HKT_SOURCE/plots"

# --- tables as hkt-train and hkt-analyze write them: two runs, two levels, two layers of two heads
mkdir -p t/hkt t/mha_2
log() { # log FILE RATE
    { printf 'step\tepoch\ttrain_loss\tval_loss\tval_accuracy\tlr\ttokens_per_s\tseconds\n'
      awk -v rate="$2" 'BEGIN { for (e = 1; e <= 6; e++) printf "%d\t%d\t2\t2\t%.4f\t0.001\t1000\t%d\n", 10 * e, e, 0.5 - 0.4 * exp(-rate * e), e }'; } >"$1"
}
log t/hkt/log.tsv 0.5
log t/mha_2/log.tsv 0.3
echo '{"data_dir": "gone/data", "settings": {"levels": 3, "hybrid": true, "fusion": "dynamic", "task": "listops"},
    "starts": [{"command": "hkt-train --out t/hkt"}]}' >t/hkt/run.json
echo '{"settings": {"levels": 1, "hybrid": false, "fusion": "static", "task": "listops"}}' >t/mha_2/run.json
echo '{"majority": 0.15, "split": "val"}' >t/hkt/eval-val.json
echo '{"majority": 0.16, "split": "test", "accuracy": 0.4, "accuracy_low": 0.38, "accuracy_high": 0.42}' >t/hkt/eval.json
{ printf 'layer\tlevel\thead\tz_lo\tz_hi\tz\tcount\tdensity\tnormal\tkappa\tstatus\n'
  awk 'BEGIN { for (b = 0; b < 8; b++) for (i = 0; i < 40; i++) { z = -9.75 + i / 2; d = exp(-z * z / 2) / 2.5066
      c = int(1e6 * d); printf "%d\t%d\t%d\t%g\t%g\t%g\t%d\t%g\t%g\t%g\t%s\n", int(b / 4), int(b / 2) % 2, b % 2, z - 0.25, z + 0.25,
          z, c + (i == 39), (c + (i == 39)) / 5e5, d, 1 + b / 10, i == 0 || i == 39 ? "warning: tail" : "ok" } }'; } >t/histogram.tsv
{ printf 'kind\tlayer\tlevel\thead\tindex\trank\teigenvalue\tsign\tstatus\n'
  awk 'BEGIN { split("0 1 NA", name, " "); for (b = 0; b < 4; b++) for (l = 1; l <= 3; l++) { if (l < 3)
      printf "form\t%d\t%s\t%d\t0\t1\t1\tpositive\tok\n", int(b / 2), name[l], b % 2
      for (i = 0; i < 9; i++) printf "gram\t%d\t%s\t%d\t%d\t%d\t%g\t%s\tok\n", int(b / 2), name[l], b % 2, i,
          i < 4 ? i + 1 : i == 4 ? 1 : 9 - i, i < 4 ? -exp(-i) : i == 4 ? 0 : exp(i - 8), i < 4 ? "negative" : i == 4 ? "zero" : "positive" } }'; } >t/spectrum.tsv
hkt-analyze cost --levels 3 --tokens 512 --out t/cost.tsv || exit 1
table() { # table NAME COLUMNS AWK: rows printed by AWK, with tabs between its fields
    { echo "$2" | tr ' ' '\t'; awk "BEGIN { OFS = \"\\t\"; $3 }"; } >"t/$1.tsv"
}
places='for (n = 0; n < 2; n++) for (l = 0; l < 2; l++) for (h = 0; h < 2; h++)'
table kurtosis 'layer level head kappa kappa_lo kappa_hi status' \
    "$places { k = 1 + n + l / 2 + h / 4; print n, l, h, k, k - 0.1, k + 0.1, \"ok\"; if (h == 1) print n, l, \"NA\", k, k - 0.1, k + 0.1, \"ok\" }"
table kurtosis-training 'step layer level head kappa status' \
    "for (s = 0; s < 5; s++) $places print 10 * s, n, l, h, 1 + s * (n + l + h) / 4, \"ok\""
table asymmetry 'quantity layer level other head value expected sd status' \
    "$places { print \"antisymmetric\", n, l, \"NA\", h, 0.45 + h / 50, 0.49, 0.01, \"ok\"; if (l == 0) print \"cosine\", n, 0, 1, h, h / 50, 0, 0.02, \"ok\" }"
table bands 'quantity layer level band edge frequency value reference status' \
    'for (n = 0; n < 2; n++) { for (k = 0; k <= 32; k++) { c = cos(k / 32 * 3.14159265358979 / 2); if (c < 1e-12) c = 0
        print "response", n, 1, "NA", 0.5, k / 32, c, c, "ok" } for (l = 0; l < 2; l++) for (b = 0; b < 2; b++) print "detail", n, l, b, (l ? 0.5 : 1), "NA", b == l ? 0.7 : 0.3, 0.5, "ok"
        for (l = 0; l < 2; l++) for (b = 0; b < 2; b++) { print "raw", n, l, b, (l ? 0.5 : 1), "NA", 0.5, 0.5, "ok"
            print "output", n, l, b, (l ? 0.5 : 1), "NA", (n ? 0.5 : "NA"), "NA", (n ? "ok" : "skipped: none") } }'
table information 'kind layer level head kappa skewness negentropy expansion ratio status' \
    "for (k = 0.01; k < 50; k *= 2) { print \"student\", \"NA\", \"NA\", \"NA\", 1 + k, 0, k * k / 6, k * k / 5, 1.2, \"ok\"
        print \"power\", \"NA\", \"NA\", \"NA\", 1 + k, 0, k * k / 6, k * k / 5, 1.2, \"ok\" } $places print \"scores\", n, l, h, 2 + h, 0, 0.1, 0.3, 3, \"ok\""
table errors 'target layer head total hierarchical downsampling optimisation status' \
    'for (n = 0; n < 2; n++) for (h = 0; h < 2; h++) print "model", n, h, 0.9, 0.1, 0.3, 0.7, "ok"'
table decay 'target layer levels error bound geometric floor rho law status' \
    'for (k = 0; k < 4; k++) for (l = 1; l < 8; l++) print k < 2 ? "scores" : k == 2 ? "exponential kernel" : "power kernel", k < 2 ? k : "NA", l, 0.7 ^ l, 0.6 ^ l, 0.7 ^ l, 0.1 + 0.5 ^ l, 0.7, "geometric", "ok"'
table gates 'quantity layer level head value sd status' \
    "$places { print \"beta\", n, l, h, 0.5 + h / 20, 0, \"ok\"; if (h == 0) { print \"lambda\", n, l, \"NA\", 0.5, 0, \"ok\"; print \"alpha\", n, l, \"NA\", 0.5, 0.1, \"ok\" } }"
table matrices 'layer level head i j factor lambda score mask status' \
    'for (l = 0; l < 3; l++) { n = l == 1 ? 4 : 8; for (i = 0; i < n; i++) for (j = 0; j < n; j++) print 1, (l == 2 ? "NA" : l), 0, i, j, (l == 1 ? 2 : 1), 0.5, i - j, (i < j ? "masked" : "used"), "ok" }'
table ablate 'part layer level head accuracy change change_lo change_hi status' \
    "print \"none\", \"NA\", \"NA\", \"NA\", 0.5, 0, 0, 0, \"ok\"; split(\"level attention convolution\", p, \" \")
     for (k = 1; k < 4; k++) for (l = 0; l < 2; l++) print p[k], \"NA\", l, \"NA\", 0.4, -0.1 * k, -0.1 * k - 0.05, -0.1 * k + 0.05, \"ok\"
     for (k = 2; k < 4; k++) for (n = 0; n < 2; n++) for (h = 0; h < 2; h++) print p[k], n, \"NA\", h, 0.4, -0.01 * k, -0.05, 0.02, \"ok\""

table runs 'task model setting seed test_accuracy majority' \
    'for (s = 0; s < 3; s++) for (m = 0; m < 2; m++) { print "listops", (m ? "mha" : "hkt"), "main", s, 0.4 + s / 100, 0.16; print "imdb", (m ? "mha" : "hkt"), "main", s, 0.6 + s / 100, 0.5
        if (!m) print "listops", "hkt", "levels-1", s, 0.3 + s / 100, 0.16 }'
table curves 'task model setting seed step val_accuracy' \
    'for (t = 0; t < 2; t++) for (m = 0; m < 2; m++) for (s = 0; s < 3; s++) for (k = 1; k < 5; k++)
        print (t ? "listops" : "imdb"), (m ? "mha" : "hkt"), "main", s, 100 * k, k / 20 + s / 100 + m / 30'
table heads 'form layer head key_head n negative_mass stable_rank status' \
    'for (n = 0; n < 3; n++) { for (h = 0; h < 4; h++) { print "weights", n, h, int(h / 2), 12, 0.5 + h / 50, 4, "ok"; print "norm", n, h, int(h / 2), 11, 0.45 - h / 50, 3, "ok" }
        for (g = 0; g < 2; g++) print "group", n, "-", g, 12, 0.5, 3, "ok" }'
table lags 'form layer head lag negative_mass antisymmetric kappa status' \
    'for (n = 0; n < 3; n++) for (h = 0; h < 2; h++) for (f = 0; f < 2; f++) for (k = 0; k < 8; k++) print (f ? "norm" : "weights"), n, h, (k ? 2 ^ (k - 1) : 0), 0.4 + h / 10 + k / 50, 0.5 - k / 30, 1.2 + k / 5, "ok"'

# --- list and help
check "list names the figures" sh -c 'test "$(hkt-plot list | cut -f 1 | tr "\n" " ")" = "training accuracy scores kurtosis kurtosis-training spectrum asymmetry bands information errors decay gates matrices ablation cost recorded recorded-ablations recorded-curves heads lags "'
check "of each its claim, its input, what it shows and the command that makes the input" sh -c '
    hkt-plot list | grep -qF "$(printf "cost\tcost\tcost.tsv\tCost of the hierarchy over standard attention against length, with the bound s^2/(s^2-1).\thkt-analyze cost --out DIR/cost.tsv")" &&
    test "$(hkt-plot list | awk -F "\t" "NF == 5" | wc -l)" -eq 20'
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "stty cols 80; hkt-plot list" /dev/null </dev/null | tr -d '\r' >person
    check "on a terminal as paragraphs" sh -c 'grep -q "^cost  *cost  *cost.tsv$" person && grep -q "made by hkt-analyze cost --out" person && test "$(awk "length > 80" person | wc -l)" -eq 0'
fi
check "--help" sh -c 'hkt-plot --help | grep -q "^ *spectrum "'

# --- every figure, format and width
hkt-plot all --from t --out a >all.out 2>all.err
check "all draws every figure in three formats and says nothing else" sh -c "test $? -eq 0 && ! grep -v '^figure [0-9]* of ' all.err && test \$(wc -l <all.out) -eq 60"
check "all of them are there and not empty" sh -c 'for f in $(cat all.out); do test -s $f || exit 1; done; test $(find a -type f | wc -l) -eq 60'
check "png is png" sh -c 'head -c 4 a/cost.png | grep -aq PNG'
check "svg ends as svg" sh -c 'tail -n 3 a/cost.svg | grep -q "</svg>"'
check "pdf is pdf" sh -c 'head -c 5 a/cost.pdf | grep -q "%PDF-"'
hkt-plot all --from t --out b --format svg,png >/dev/null 2>&1
check "svg and png are the same bytes when made twice" sh -c 'for f in $(hkt-plot list | cut -f 1); do cmp a/$f.svg b/$f.svg && cmp a/$f.png b/$f.png || exit 1; done'
check "only the formats asked for" test "$(find b -name '*.pdf' | wc -l)" -eq 0
for width in column page; do
    hkt-plot all --from t --out $width --format svg --width $width >/dev/null 2>w.err
    check "width $width" sh -c "test $? -eq 0 && test ! -s w.err"
done
check "column is 85 mm, page 178 mm" sh -c 'grep -q "width=\"321\"" column/scores.svg && grep -q "width=\"673\"" page/scores.svg'
check "labels come from run.json" sh -c 'grep -q "HKT, 3 levels, dynamic fusion" column/training.svg && grep -q ">MHA<" column/training.svg'
check "the baseline of the validation split" grep -q 'most frequent class' column/training.svg
check "several tasks: a panel each" sh -c 'grep -q ">IMDB characters<" page/recorded.svg && grep -q ">ListOps<" page/recorded.svg'
check "curves of several tasks: a panel each" sh -c 'grep -q ">IMDB characters<" page/recorded-curves.svg && grep -q ">ListOps<" page/recorded-curves.svg'
check "ablations by their names" grep -q '>one level<' page/recorded-ablations.svg
gnuplot -d -e "format = 'svg'; width_mm = 85; load '$HKT_PLOTS/style.gp'; set print '-'; \
    do for [n in '2 3 4 11 31'] { eval student(int(n)); print sprintf('%.4f', t_975) }" >student 2>&1
check "quantiles of Student's t are those of the tables" test "$(tr '\n' ' ' <student)" = '12.7062 4.3027 3.1824 2.2281 2.0423 '
check "the difference to MHA beside the paper's" sh -c 'grep -q ">HKT − MHA (points), n = 3<" page/recorded.svg && grep -q ">in the paper<" page/recorded.svg'
check "ablations against the whole HKT, of how many seeds" sh -c 'grep -q ">ListOps, n = 3 seeds<" page/recorded-ablations.svg && ! grep -q ">HKT, 3 levels<" page/recorded-ablations.svg'
check "the law that was accepted" grep -q '>accepted law: geometric, ρ = 0.700<' page/decay.svg
check "published figures beside the runs" grep -q '>HKT (paper)<' column/accuracy.svg
check "images are not smoothed" grep -q "<image style='image-rendering:pixelated'" page/matrices.svg
check "kappa is in the titles" grep -q 'κ 1 to 1.5' column/scores.svg
check "permissions are those of the umask" sh -c 'umask 022; hkt-plot cost --from t --out u --format svg >/dev/null && test "$(stat -c %a u/cost.svg)" = 644'

# --- names that gnuplot could misread
odd="o'dd <cat |x_{1}"
cp -r t "$odd"
check "odd names of directories" hkt-plot all --from "$odd" --out "$odd/fig" --format svg
log "$odd/mha_2/log.tsv" 0.4
mkdir -p "$odd/r\`id\`'"
cp "$odd/hkt/log.tsv" "$odd/r\`id\`'/log.tsv"
check "odd names of runs" hkt-plot training --from "$odd" --out odd --format svg
check "are printed as they are" grep -q 'r`id`' odd/training.svg

# --- missing, incomplete, empty, wrong
mkdir -p e
fails "missing table: which command makes it" 3 "make it with: hkt-analyze cost --out e/cost.tsv" hkt-plot cost --from e --out x
mkdir 'with space'
fails "a path in a command is quoted" 3 "make it with: hkt-analyze cost --out 'with space/cost.tsv'" hkt-plot cost --from 'with space' --out x
fails "missing runs" 3 "make it with: hkt-train" hkt-plot training --from e --out x
fails "nothing at all" 3 "nothing to draw in 'e'" hkt-plot all --from e --out x
check "a directory for no figure is not left" test ! -e x
cp t/cost.tsv t/cost.tsv.json e/
cp t/cost.tsv plain.tsv
hkt-plot all --from e --out x >partial.out 2>partial.err
check "all draws what it can" sh -c "test $? -eq 0 && test \$(wc -l <partial.out) -eq 3 && test \$(grep -c 'make it with' partial.err) -eq 17"
rm -rf x
sed 's/^layer\t/player\t/' t/cost.tsv >e/cost.tsv
fails "changed table" 3 "e/cost.tsv: expected checksum " hkt-plot cost --from e --out x
rm e/cost.tsv.json # what is changed below has none
grep '^quantity' plain.tsv >e/cost.tsv
fails "table without rows" 3 "has no rows" hkt-plot cost --from e --out x
sed 's/\tratio\t/\tcost\t/' plain.tsv >e/cost.tsv
fails "missing column" 3 "expected a column 'ratio'" hkt-plot cost --from e --out x
sed 's/^\(pairs\t.*\t\)[0-9.]*\(\t[0-9.]*\tyes\)/\1NA\2/' plain.tsv >e/cost.tsv
hkt-plot cost --from e --out x --format svg >/dev/null 2>nan.err
check "rows without a number are reported" grep -q "rows have no number in column 'ratio' and are not drawn" nan.err
sed 's/^\(pairs\t.*\t\)[0-9.]*\(\t[0-9.]*\tyes\)/\1fast\2/' plain.tsv >e/cost.tsv
rm -rf x
fails "text for a number" 3 ": expected a number in column 'ratio', found 'fast'" hkt-plot cost --from e --out x --format svg
check "nothing of it is left" test ! -e x
head -n 2 t/ablate.tsv >e/ablate.tsv
fails "a table that lacks rows" 3 "'ablate.tsv' lacks rows that the figure is drawn from; make it with: hkt-analyze ablate" \
    hkt-plot ablation --from e --out x --format svg
check "nothing of that is left" test ! -e x
rm e/ablate.tsv
mkdir -p half/run half/empty
log half/run/log.tsv 0.5
grep '^step' half/run/log.tsv >half/empty/log.tsv
hkt-plot training --from half --out half --format svg >/dev/null 2>half.err
check "a run without rows is named" sh -c "test $? -eq 0 && grep -q 'empty/log.tsv. has no rows yet: the run is left out' half.err"
echo '{"majority": 0.16, "split": "test"}' >half/run/eval-val.json
fails "a baseline of another split" 3 "expected an evaluation on the split 'val', found 'test'" hkt-plot training --from half --out half
sed 's/^\([a-z]*\t64\t[0-9]\t2\t[0-9]*\t[0-9.]*\t\)[0-9.]*/\1NA/' plain.tsv >e/cost.tsv
rm -rf x
fails "no number at all" 3 "expected numbers in column 'ratio', found none" hkt-plot cost --from e --out x
cp -r t broken
echo 'broken' >broken/cost.tsv
hkt-plot all --from broken --out bx --format svg >/dev/null 2>&1
check "all: a broken table is a failure, the rest is drawn" sh -c "test $? -eq 3 && test \$(find bx -name '*.svg' | wc -l) -eq 19"
echo '{' >broken/hkt/run.json
fails "broken run.json" 3 "run.json" hkt-plot training --from broken --out x

# --- report
hkt-verify cost --quick --json t/verify.json >/dev/null 2>&1 || exit 1
mkdir -p t/data
echo '{"format": "hkt-data/1", "provenance": {"command": "hkt-data listops --out t/data"}}' >t/data/data.json
check "report" hkt-plot report --from t --out r.html
check "every figure is in it, and nothing is missing" sh -c '
    test $(grep -c "<figure id=" r.html) -eq 20 && ! grep -q "class=\"missing\"" r.html && test $(grep -c "<svg id" r.html) -eq 38'
check "captions are numbered, say what is shown, of how many, what was found and how to make it" sh -c '
    test $(grep -c "<figcaption><strong>Figure [0-9]*, " r.html) -eq 20 && grep -q "Figure 1, cost\.<" r.html &&
    grep -q "1 is a normal distribution. n: 8 heads of levels and layers\." r.html &&
    grep -q "with the bound s^2/(s^2-1). Found: R is not below s^2/(s^2-1) for 98655 triples" r.html &&
    grep -q "From kurtosis.tsv; drawn by <code>hkt-plot kurtosis --from t --out DIR</code>" r.html &&
    grep -q "From cost.tsv, made by <code>hkt-analyze cost --levels 3 --tokens 512 --out t/cost.tsv</code>; drawn by" r.html'
check "pictures say what is seen, not who drew them" sh -c '
    grep -q "<title id=\"svg-cost-page-title\">Cost of the hierarchy over standard attention" r.html && ! grep -qi "gnuplot</title>\|Produced by" r.html'
check "a row for each claim, with a small figure and what holds and fails" sh -c '
    grep -q "<tr><th scope=\"row\"><a href=\"#claim-cost\">cost</a></th>" r.html && grep -q "<use href=\"#svg-cost-column\"" r.html &&
    grep -q "<strong class=\"HOLDS\">Holds:</strong> attention over all levels" r.html &&
    grep -q "<strong class=\"VIOLATED\">Fails:</strong> for other lengths" r.html'
check "checks are folded, those of the method apart" sh -c '
    grep -q "<summary>10 checks of the claim: 6 HOLDS, 2 VIOLATED, 2 SKIPPED</summary>" r.html &&
    grep -q "<summary>2 checks of the method itself: all hold</summary>" r.html'
check "what explain says is in it" sh -c '
    grep -q "<h4 id=\"explain-cost-bound-any-length\">" r.html && grep -q "<dt>VIOLATED would mean</dt>" r.html'
check "how the data were made is the first command" sh -c 'sed -n "/id=.reproduce/,\$p" r.html | grep -A1 "<pre>" | grep -q "<pre>hkt-data listops --out t/data$"'
check "less than 3 MB" test "$(wc -c <r.html)" -lt 3000000
check "main, headings, scopes" sh -c 'grep -q "<main id=\"main\">" r.html && grep -q "<h1>" r.html && grep -q "<th scope=\"col\">" r.html'
check "light, dark, print" sh -c 'grep -q "prefers-color-scheme:dark" r.html && grep -q "@media print" r.html'
if command -v chromium >/dev/null 2>&1; then
    mkdir -p browser
    cp "$HKT_SOURCE/tests/overflow.html" browser/
    cp r.html browser/page.html
    # The sandbox wants privileges that a container lacks; the page is our own.
    HOME=$PWD/browser timeout 120 chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files \
        --virtual-time-budget=60000 --dump-dom "file://$PWD/browser/overflow.html" >browser/dom 2>browser/err
    for width in 400 720 1280; do
        check "nothing overflows at $width px" grep -q "\[$width fits\]" browser/dom
    done
    # Control: something too wide is noticed.
    sed "s|<main|<div style=\"width:2000px\">x</div><main|" r.html >browser/page.html
    HOME=$PWD/browser timeout 120 chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files \
        --virtual-time-budget=60000 --dump-dom "file://$PWD/browser/overflow.html" >browser/dom 2>browser/err
    check "a page that overflows is noticed" grep -q '\[1280 overflows\]' browser/dom
else
    echo "# skipped: that nothing overflows at 400, 720 and 1280 px: chromium is not installed"
fi
check "commands of the training are in it" grep -q "hkt-train --out t/hkt$" r.html
check "claims are in it, escaped" grep -qF '<dd>R &lt; s^2/(s^2 - 1), that is 4/3 at s = 2</dd>' r.html
check "verdicts are counted" grep -q '<strong>8 HOLDS, 2 VIOLATED, 0 INCONCLUSIVE, 2 SKIPPED, 0 ERROR</strong> of <code>random models</code>' r.html
check "no command is there twice" sh -c 'test -z "$(sed -n "/id=.reproduce/,\$p" r.html | grep "^hkt-\|^made" | sort | uniq -d)"'
check "commands are in it" grep -q '^hkt-analyze cost --levels 3 --tokens 512 --out t/cost.tsv$' r.html
check "settings are in it" grep -q '>setting</th><th scope="col">HKT, 3 levels, dynamic fusion</th><th scope="col">MHA</th>' r.html
check "no id occurs twice" sh -c 'test -z "$(grep -o "id=[\"'"'"'][^\"'"'"']*" r.html | sort | uniq -d)"'
check "every reference leads to an id" sh -c '
    grep -o "href=[\"'"'"']#[^\"'"'"']*" r.html | sed "s/.*#//" | sort -u >refs
    grep -o "id=[\"'"'"'][^\"'"'"']*" r.html | sed "s/id=.//" | sort -u >ids
    test -s refs && test -z "$(comm -23 refs ids)"'
check "nothing is loaded from elsewhere" sh -c '! grep -qiE "<script|<link|src=|url\(http|@import" r.html'
cp r.html first.html
hkt-plot report --from t --out r.html >/dev/null
check "the same bytes when made twice" cmp first.html r.html
mkdir -p none
check "report of an empty directory says what makes each part" sh -c '
    hkt-plot report --from none --out n.html && test $(grep -c "class=\"missing\"" n.html) -eq 19 && grep -q "make it with: hkt-analyze ablate" n.html'
rm -f x.html
fails "broken table: no report" 3 "expected" hkt-plot report --from broken --out x.html
check "nothing is left of it" sh -c 'test -z "$(ls x.html* 2>/dev/null)"'

# --- gnuplot
cp -r "$HKT_SOURCE/plots" scripts
echo 'plot "nowhere.tsv"' >>scripts/cost.gp
fails "what gnuplot says is a failure" 4 "gnuplot" hkt-plot cost --from t --out x --plots scripts
echo 'exit' >scripts/cost.gp
fails "an empty picture is a failure" 4 "drew nothing" hkt-plot cost --from t --out x --plots scripts
fails "no gnuplot" 5 "cannot run 'gnuplot'" env PATH=/nowhere "$BUILD/bin/hkt-plot" cost --from t --out x
fails "no scripts" 3 "no 'style.gp' in 'nowhere'" hkt-plot cost --from t --out x --plots nowhere
check "nothing is left behind" sh -c 'test -z "$(find x -type f)"'

# --- usage
fails "no figure" 2 "" hkt-plot
fails "unknown figure" 2 "training" hkt-plot trainin --from t --out x
fails "unknown format" 2 "expected pdf, png and svg" hkt-plot cost --from t --out x --format gif
fails "format list with a gap" 2 "expected pdf, png and svg" hkt-plot cost --from t --out x --format svg,
fails "unknown width" 2 "width" hkt-plot cost --from t --out x --width wide
fails "no --from" 2 "from" hkt-plot cost --out x
fails "--from is not there" 3 "nowhere" hkt-plot cost --from nowhere --out x
finish
