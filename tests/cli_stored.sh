#!/bin/sh
# hkt-analyze and hkt-verify --scores, and hkt-analyze bands --hidden: what other programs stored, made by numpy (stored_scores.py), against
# numpy; and what is wrong with it gets one line. Needs python3-numpy, else it is left out.
set -u
. "$HKT_SOURCE/tests/tap.sh"
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
[ "$python" != none ] || { echo "1..0 # numpy is not installed"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
stored=$HKT_SOURCE/tests/stored_scores.py
"$python" "$stored" make || exit 1
for name in grouped tiles halves pairs wide lengths matrix masked; do
    set -- "$name.q.npy" "$name.k.npy"
    case $name in
    lengths) set -- lengths.safetensors ;;
    matrix | masked) set -- $name.npy ;;
    esac
    mask=causal
    case $name in tiles | pairs | wide | matrix) mask=none ;; esac
    for what in inertia asymmetry information; do
        hkt-analyze $what --scores "$@" --mask $mask --map $name.json --out $name.$what.tsv || exit 1
    done
    hkt-analyze kurtosis --scores "$@" --mask $mask --map $name.json --out $name.kurtosis.tsv --histogram $name.histogram.tsv || exit 1
done
hkt-analyze bands --hidden hidden.npy --levels 3 --out hidden2.tsv || exit 1
hkt-analyze bands --hidden hidden.npy --levels 3 --stride 3 --out hidden3.tsv || exit 1
"$python" "$stored" check >numpy.log
numpy=$?
grep -v '^1\.\.' numpy.log
# shellcheck disable=SC2034 # tap.sh counts on from here
number=$(grep -c '^ok \|^not ok ' numpy.log)
result $numpy "numpy agrees"

rows() { grep -v '^#' "$1"; }
hkt-analyze kurtosis --scores grouped.q.npy grouped.k.npy --mask causal --threads 1 --out one.tsv
check "the number of threads does not matter" sh -c 'grep -v "^#" one.tsv >a; grep -v "^#" grouped.kurtosis.tsv | cmp - a'
hkt-analyze asymmetry --scores grouped.q.npy grouped.k.npy --mask causal --layer 1 --head 2 --sequences 3 --out some.tsv
check "filters and a number of sequences" sh -c 'grep -v "^#" some.tsv | cut -f 1-3 | tr "\t\n" "  " | grep -qx "layer head sequence 1 2 0 1 2 1 1 2 2 "'
check "the mask of a map" sh -c 'echo "{\"mask\": \"causal\"}" >mask.json; hkt-analyze kurtosis --scores grouped.q.npy grouped.k.npy --map mask.json | grep -v "^#" >a
    grep -v "^#" grouped.kurtosis.tsv | cmp - a'
"$python" -c '
import numpy as np
np.save("len.npy", np.full(12, 40, dtype=np.int32))
np.save("short.npy", np.full(12, 30, dtype=np.int64))'
hkt-analyze kurtosis --scores grouped.q.npy grouped.k.npy len.npy --mask causal --out one.tsv
check "lengths as a third file" sh -c 'grep -v "^#" one.tsv >a; grep -v "^#" grouped.kurtosis.tsv | cmp - a'
check "shorter lengths: fewer scores" sh -c 'hkt-analyze kurtosis --scores grouped.q.npy grouped.k.npy short.npy --mask causal --head 0 --layer 0 | grep -v "^#" | cut -f 5 | grep -qx 5580'
hkt-analyze bands --hidden one.npy --levels 3 --layer 0 --sequences 0 --out one.tsv
check "bands of one layer in single precision" sh -c 'awk -F "\t" "FNR == 1 { f++ } /^#/ { next } { for (i = 1; i <= NF; i++) a[f, FNR, i] = \$i } f == 2 && \$2 == 0 {
    n++; if ((\$6 - a[1, FNR, 6]) ^ 2 > 1e-10) bad = 1 } END { exit bad || n != 18 }" hidden2.tsv one.tsv'

# --- claims ---
verdict() { # verdict CHECK VERDICT CLAIM OPTION...: the verdict of one check
    check=$1 expected=$2
    shift 2
    hkt-verify "$@" --tsv verdicts.tsv >verify.txt 2>&1
    check "claims: $* $check $expected" awk -F '\t' -v c="$check" -v v="$expected" '
        /^#/ { next } !head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; next }
        $at["check"] == c { found = $at["verdict"] == v } END { exit !found }' verdicts.tsv
}
"$python" - <<'P'
import numpy as np
rng = np.random.default_rng(11)
x = rng.normal(size=(20, 2, 60, 4))
np.save("tied.npy", x)
np.save("flat.npy", rng.uniform(size=(20, 3, 40, 40)))
np.save("normal.npy", rng.normal(size=(20, 3, 40, 40)))
np.save("none.npy", np.zeros((20, 3, 40, 4)))
P
verdict scores-gram HOLDS psd --scores grouped.q.npy grouped.k.npy --mask causal
verdict scores-parts HOLDS asymmetry --scores grouped.q.npy grouped.k.npy --mask causal
verdict scores-tails HOLDS kurtosis --scores grouped.q.npy grouped.k.npy --mask causal
verdict scores-gram VIOLATED psd --scores tied.npy tied.npy --mask none
verdict scores-parts VIOLATED asymmetry --scores tied.npy tied.npy --mask none
verdict scores-tails VIOLATED kurtosis --scores flat.npy --mask none
verdict scores-expansion VIOLATED information --scores flat.npy --mask none
verdict scores-gram SKIPPED psd --scores masked.npy --mask causal
verdict scores-parts SKIPPED asymmetry --scores none.npy none.npy --mask none
verdict scores-tails SKIPPED kurtosis --scores none.npy none.npy --mask none
check "claims: the uniform law's expansion, 1.2^2/48 = 0.03, against its negentropy, log(2 pi e/12)/2 = 0.1765" sh -c '
    hkt-verify information --scores flat.npy --mask none 2>&1 | tr -s "\n " "  " | grep -qE "0\.03 nats for 0\.17[67]"'
check "claims: explained" sh -c 'hkt-verify explain information | grep -q "scores-expansion (empirical)"'
fails "claims: not for scores" 2 "'cost' is not for '--scores'" hkt-verify cost --scores tied.npy tied.npy --mask none
fails "claims: both" 2 "expected one of '--model' and '--scores', found both" hkt-verify psd --model x --scores tied.npy --mask none
fails "claims: a mask alone" 2 "option '--mask' needs '--scores'" hkt-verify psd --mask none
fails "claims: a checkpoint" 2 "option '--checkpoint' has no effect with '--scores'" hkt-verify psd --checkpoint x --scores tied.npy --mask none

# --- the script for PyTorch ---
torch=none
for other in python3 /usr/bin/python3; do
    "$other" -c 'import torch, numpy' 2>/dev/null && torch=$other
done
if [ $torch = none ]; then
    echo "# left out: docs/examples/store_scores.py, since torch is not installed (python3-torch)"
else
    check "queries and keys of a PyTorch model are stored" "$torch" "$HKT_SOURCE/tests/torch_scores.py" "$HKT_SOURCE/docs/examples"
    hkt-analyze kurtosis --scores q.npy k.npy --mask causal --out torch.tsv
    hkt-analyze kurtosis --scores own.npy --mask causal --out own.tsv
    check "PyTorch: the scores are those of its attention, and numpy has their kappa" "$torch" -c '
import numpy as np
read = lambda f: [line.split("\t") for line in open(f) if line[0] != "#"]
own = np.load("own.npy")
rows, others = read("torch.tsv"), read("own.tsv")
assert len(rows) == len(others) == 1 + 2 * 5 and own.shape == (2, 24, 4, 30, 30)
for row, other in zip(rows[1:], others[1:]):
    assert row[:6] == other[:6] and abs(float(row[6]) / float(other[6]) - 1) < (1e-10 if row[2] != "NA" else 1e-8)
    if row[2] != "NA":
        x = own[int(row[0]), :, int(row[2])][:, np.tri(30) > 0]
        z = x - x.mean()
        assert int(row[4]) == x.size and abs(float(row[6]) - (z**4).mean() / (3 * (z**2).mean() ** 2)) < 1e-10'
fi

# --- what is wrong ---
refused() { # refused TEXT STATUS MESSAGE OPTION...: one line, no table
    text=$1 status=$2 message=$3
    shift 3
    fails "$text" "$status" "$message" hkt-analyze "$@" --out wrong.tsv
    result "$([ "$(wc -l <fails.err)" -eq 1 ] && [ ! -e wrong.tsv ]; echo $?)" "$text: one line, no table"
}
"$python" - <<'P'
import os, sys
sys.path.insert(0, os.environ["HKT_SOURCE"] + "/tests")
import numpy as np
from foreign_models import write_safetensors
q = np.ones((2, 4, 10, 6))
np.save("q.npy", q)
np.save("k3.npy", np.ones((2, 3, 10, 6)))
np.save("k9.npy", np.ones((2, 4, 9, 6)))
np.save("flat3.npy", np.ones((4, 10, 6)))
np.save("whole.npy", np.ones((2, 4, 10, 6), dtype=np.int32))
np.save("short_int.npy", np.ones((2, 4, 10, 6), dtype=np.int16))
np.save("fortran.npy", np.asfortranarray(q))
np.save("empty.npy", np.ones((0, 4, 10, 6)))
np.save("long.npy", np.array([10, 11]))
np.save("three.npy", np.array([10, 10, 10]))
nan = q.copy(); nan[1, 2, 9, 3] = np.nan
np.save("nan.npy", nan)
m = np.ones((2, 4, 10, 10)); m[0, 1, 5, 2] = np.inf
np.save("inf.npy", m)
np.save("vector.npy", np.ones(7))
h = np.ones((2, 40, 3)); h[1, 7, 2] = np.inf
np.save("inf_states.npy", h)
open("cut.npy", "wb").write(open("q.npy", "rb").read()[:-8])
open("head.npy", "wb").write(open("q.npy", "rb").read()[:40])
write_safetensors("only_q.safetensors", {"q": ("F64", q.shape, q.tobytes())})
write_safetensors("both.safetensors", {n: ("F64", q.shape, q.tobytes()) for n in "qks"})
write_safetensors("other.safetensors", {"x": ("F64", q.shape, q.tobytes())})
P
m="--mask none"
refused "no mask" 2 "expected '--mask causal' or '--mask none', found neither" kurtosis --scores q.npy q.npy
refused "no such file" 3 "nowhere.npy" kurtosis --scores nowhere.npy q.npy $m
refused "keys that fit no group" 3 "k3.npy: 'k': expected keys of 1 layers, 2 sequences, 4 heads or a divisor of them, 10 tokens, p 6, found shape [2, 3, 10, 6]" kurtosis --scores q.npy k3.npy $m
refused "keys of other tokens" 3 "found shape [2, 4, 9, 6]" kurtosis --scores q.npy k9.npy $m
refused "three dimensions" 3 "flat3.npy: 'q': expected queries [sequences, heads, tokens, p], or with layers before, found shape [4, 10, 6]" kurtosis --scores flat3.npy flat3.npy $m
refused "whole numbers" 3 "whole.npy: 'q': expected floats (F64, F32, F16, BF16), found I32" kurtosis --scores whole.npy q.npy $m
refused "whole numbers of two bytes" 3 "short_int.npy: expected dtype <f8, <f4, <f2, <i8, <i4 or |u1, found '<i2'" kurtosis --scores short_int.npy q.npy $m
refused "Fortran order" 3 "fortran.npy: expected C order, found Fortran order" kurtosis --scores fortran.npy q.npy $m
refused "nothing in it" 3 "empty.npy: 'q': expected queries" kurtosis --scores empty.npy empty.npy $m
refused "a file that is cut" 3 "cut.npy: expected 3840 bytes of data for its shape and dtype, found 3832" kurtosis --scores cut.npy q.npy $m
refused "a header that is cut" 3 "head.npy: truncated" kurtosis --scores head.npy q.npy $m
refused "something else" 3 "mask.json: not a safetensors file" kurtosis --scores q.npy mask.json $m
refused "a query that is not finite" 3 "nan.npy: 'q': expected finite numbers, found nan at layer 0, sequence 1, head 2, token 9, place 3" inertia --scores nan.npy q.npy $m
refused "the same in the walk over scores" 3 "found nan at layer 0, sequence 1, head 2, token 9, place 3" kurtosis --scores nan.npy q.npy $m
refused "a score that is not finite" 3 "inf.npy: 's': expected finite numbers, found inf at layer 0, sequence 0, head 1, token 5, place 2" kurtosis --scores inf.npy --mask causal
refused "scores that are no matrix" 3 "q.npy: 's': expected scores [layers, sequences, heads, tokens, tokens]" kurtosis --scores q.npy $m
refused "a vector" 3 "vector.npy: 's': expected scores" kurtosis --scores vector.npy $m
refused "lengths that are too long" 3 "long.npy: 'lengths': expected lengths from 1 to 10 tokens, found 11 of sequence 1" kurtosis --scores q.npy q.npy long.npy $m
refused "lengths of other sequences" 3 "three.npy: 'lengths': expected a length for every sequence, found shape [3]" kurtosis --scores q.npy q.npy three.npy $m
refused "queries alone" 3 "only_q.safetensors: expected tensors 'q' and 'k', or 's', found 'q'" kurtosis --scores only_q.safetensors $m
refused "queries, keys and scores" 3 "both.safetensors: expected tensors 'q' and 'k', or 's', found 'q' 'k' 's'" kurtosis --scores both.safetensors $m
refused "other tensors" 3 "other.safetensors: expected tensors 'q' and 'k', or 's', found none of them" kurtosis --scores other.safetensors $m
refused "too many files" 2 "'--scores': expected at most 3 files, found more" kurtosis --scores q.npy q.npy long.npy q.npy $m
echo '{"heads": 4}' >words.json
refused "a word of a map without effect" 3 "words.json: key 'heads': has no effect on stored scores" kurtosis --scores q.npy q.npy $m --map words.json
echo '{"rotary_dimensions": 8}' >wide.json
refused "more turned elements than there are" 3 "wide.json: key 'rotary_dimensions': expected an even number up to 6, found 8" kurtosis --scores q.npy q.npy $m --map wide.json
refused "two masks" 2 "expected the mask once, found it in 'mask.json' as well" kurtosis --scores q.npy q.npy $m --map mask.json
refused "hidden states that are too short" 3 "one.npy: 8 levels of stride 2: expected at least 256 tokens, found 75" bands --hidden one.npy --levels 8
refused "hidden states that are not finite" 3 "inf_states.npy: expected finite numbers, found inf at layer 0, sequence 1, token 7, element 2" bands --hidden inf_states.npy
refused "hidden states of one dimension" 3 "vector.npy: expected hidden states" bands --hidden vector.npy
refused "a measurement that is for models" 2 "'lags' is not for '--scores'" lags --scores q.npy q.npy $m
refused "a measurement that is for our models" 2 "'gates' is not for '--scores'" gates --scores q.npy q.npy $m
refused "kurtosis of hidden states" 2 "'kurtosis' is not for '--hidden'" kurtosis --hidden hidden.npy
refused "a mask of hidden states" 2 "option '--mask' has no effect with '--hidden'" bands --hidden hidden.npy $m
refused "a model and scores" 2 "option '--model' has no effect with '--scores'" kurtosis --scores q.npy q.npy $m --model x
refused "a histogram of inertia" 2 "option '--histogram' has no effect on 'inertia'" inertia --scores q.npy q.npy $m --histogram h.tsv
refused "a row that is not there" 3 "expected a row with layer 3, head any, found none" kurtosis --scores q.npy q.npy $m --layer 3
fails "the table onto its input" 2 "option '--out'" hkt-analyze kurtosis --scores grouped.q.npy grouped.k.npy --mask causal --out grouped.k.npy
finish
