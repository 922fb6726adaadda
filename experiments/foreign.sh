#!/bin/sh
# What the weights of models of others say: a row per model, form and lag, of all heads. Weights are not in the repository.
#   usage: experiments/foreign.sh MODELS OUT    MODELS: a folder with stories260K.bin and ch_PP-OCRv4_rec_infer.onnx, or one of them
# OUT/MODEL-WHAT.tsv are the tables by head, OUT/foreign.tsv the summary in docs/results.md, OUT/MODEL/*.png the figures (with gnuplot).
# The .onnx file needs python3-numpy.
set -eu
[ $# -eq 2 ] || { echo "usage: experiments/foreign.sh MODELS OUT" >&2; exit 2; }
models=$1 out=$2 here=$(dirname "$0")
mkdir -p "$out"
found=0 python=python3
"$python" -c "import numpy" 2>/dev/null || python=/usr/bin/python3

tables() { # tables NAME OPTION...: of one model; MODEL has the options
    name=$1
    shift
    found=1
    for what in inertia asymmetry kurtosis; do
        hkt-analyze $what "$@" --out "$out/$name-$what.tsv"
    done
    hkt-verify all "$@" --tsv "$out/$name-verdicts.tsv" >/dev/null
}

figures() { # figures NAME FIGURE...: of one model
    name=$1
    shift
    command -v gnuplot >/dev/null || return 0
    mkdir -p "$out/$name"
    cp "$out/$name-inertia.tsv" "$out/$name/heads.tsv"
    [ ! -e "$out/$name-lags.tsv" ] || cp "$out/$name-lags.tsv" "$out/$name/lags.tsv"
    for figure in "$@"; do
        hkt-plot "$figure" --from "$out/$name" --out "$out/$name" --format png >/dev/null
    done
}

# summary NAME WHAT KEYS VALUE [QUANTITY]: least, median and largest of a column for every value of the columns KEYS ("form" or "form lag")
summary() {
    awk -F '\t' -v model="$1" -v keys="$3" -v value="$4" -v quantity="${5-}" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(keys, key, " "); next }
        (quantity == "" || $at["quantity"] == quantity) && $at["status"] !~ /^skipped/ {
            print $at[key[1]] "\t" (n > 1 ? $at[key[2]] : 0) "\t" $at[value] }' "$out/$1-$2.tsv" |
        sort -t "$(printf '\t')" -k 1,1 -k 2,2n -k 3,3g | awk -F '\t' -v model="$1" -v q="${5:-$4}" '
        function show() { if (n) printf "%s\t%s\t%s\t%s\t%d\t%.4g\t%.4g\t%.4g\tok\n", model, q, form, lag, n, v[1],
                                        (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2, v[n] }
        $1 != form || $2 != lag { show(); n = 0; form = $1; lag = $2 }
        { v[++n] = $3 }
        END { show() }'
}

rows() { # rows NAME: of the summary
    summary "$1" inertia form negative_mass
    summary "$1" asymmetry form value antisymmetric
    summary "$1" kurtosis form kappa
}

table=$out/foreign.tsv
printf 'model\tquantity\tform\tlag\trows\tleast\tmedian\tlargest\tstatus\n' >"$table.new"
if [ -e "$models/stories260K.bin" ]; then
    tables stories --model "$models/stories260K.bin"
    hkt-analyze lags --model "$models/stories260K.bin" --out "$out/stories-lags.tsv"
    figures stories heads lags
    rows stories >>"$table.new"
    for value in negative_mass antisymmetric kappa; do
        summary stories lags "form lag" $value | awk -F '\t' '$4 > 0' >>"$table.new"
    done
fi
if [ -e "$models/ch_PP-OCRv4_rec_infer.onnx" ]; then
    "$python" "$here/../tests/onnx_tensors.py" "$models/ch_PP-OCRv4_rec_infer.onnx" "$out/ocr.safetensors"
    cat >"$out/ocr.json" <<'MAP'
{"query": ["linear_77.w_0", "linear_81.w_0"], "query_bias": ["linear_77.b_0", "linear_81.b_0"],
 "layout": "blocks", "transposed": true, "heads": 8, "mask": "none"}
MAP
    tables ocr --model "$out/ocr.safetensors" --map "$out/ocr.json"
    figures ocr heads
    rows ocr >>"$table.new"
fi
[ $found -eq 1 ] || { rm "$table.new"; echo "foreign.sh: expected stories260K.bin or ch_PP-OCRv4_rec_infer.onnx in '$models', found neither" >&2; exit 3; }
mv "$table.new" "$table"
