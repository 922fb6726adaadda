#!/bin/sh
# An installed copy in a prefix of its own, used from a folder that has nothing of the source tree: the examples in C, C++
# and Python against the shared and the static library, what they print against numpy and hkt-eval.
set -u
. "$HKT_SOURCE/tests/tap.sh"
[ -e "$BUILD/lib/libhkt.so.0" ] || { echo "1..0 # no shared library in this build (sanitizers, another processor)"; exit 0; }
install_to() { # install_to PREFIX LIBDIR [TARGET]
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$HKT_SOURCE" "${3:-install-files}" BUILD="$BUILD" PREFIX="$1" LIBDIR="$2"
}
prefix=$PWD/prefix
lib=$prefix/lib/multi-arch
check "make install" install_to "$prefix" "$lib"
PATH=$prefix/bin:$PATH
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
cp -r "$prefix/share/doc/hkt/examples" work && cd work || exit 1
check "no file names the source tree" sh -c "! grep -rIlE '$HKT_SOURCE/(src|include|docs|analysis)' $prefix | grep ."
check "pkg-config --libs is the library alone" test "$(pkg-config --libs hkt | sed 's/ *$//')" = "-L$lib -lhkt"
check "gslcblas is not asked for" sh -c "! pkg-config --libs --static hkt | grep gslcblas"

hkt-data listops --out data --train 100 --val 12 --test 5 --min-length 5 --max-length 44 --max-depth 4 --max-args 5 2>/dev/null
hkt-train --data data --d-model 16 --heads 2 --layers 2 --levels 3 --batch-tokens 400 --steps 20 --lr 0.01 --max-len 44 \
    --out run >/dev/null 2>&1
tokens="1 12 3 4 13 5 6 7 2 9 1 2 3"
build() { # build COMPILER STANDARD SOURCE PROGRAM LIBS
    # shellcheck disable=SC2046,SC2086 # several flags
    $1 -std=$2 -Wall -Wextra -Werror $(pkg-config --cflags hkt) "$3" -o "$4" $5
}
try() { # try NAME: runs it
    # shellcheck disable=SC2086
    "./$1" run/best.safetensors $tokens >"$1.out"
}
check "head.c, --libs alone" build gcc c11 head.c shared "$(pkg-config --libs hkt)"
check "runs" try shared
check "head.c, static" build gcc c11 head.c static "$(pkg-config --libs --static hkt | sed 's/-lhkt/-l:libhkt.a/')"
readelf -d static >static.elf
check "without the shared one" sh -c "! grep libhkt static.elf"
check "and without GSL's cblas" sh -c "! grep gslcblas static.elf"
check "runs" try static
check "head.cpp" build g++ c++17 head.cpp cxx "$(pkg-config --libs hkt)"
check "runs" try cxx
check "the same bytes from all three" sh -c "cmp shared.out static.out && cmp shared.out cxx.out"
check "3 logits or more, 12 heads, a proof" sh -c "[ \$(grep -c ^head shared.out) = 12 ] && grep -qx 'certificate	definite' shared.out"
fails "a checkpoint that is not there: one line" 3 "absent" ./shared absent 1
fails "a token that the model does not know" 3 "found 999" ./shared run/best.safetensors 999

for python in /usr/bin/python3 python3 none; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
if [ "$python" != none ]; then
    cat >check.py <<'P'
import sys
import numpy as np
import hkt
said = [line.rstrip("\n").split("\t") for line in open("shared.out")]
tokens = [int(t) for t in sys.argv[1:]]
with hkt.Model("run/best.safetensors") as m:
    assert [float(r[2]) for r in said if r[0] == "logit"] == list(m.forward(tokens)), "logits"
    heads = m.heads(tokens)
rows = [r for r in said if r[0] == "head"]
assert len(rows) == len(heads) == 12
for row, h in zip(rows, heads):
    s = h.q @ h.k.T / np.sqrt(h.q.shape[1])
    x = s[np.tril_indices(len(s))]
    kappa = np.mean((x - x.mean()) ** 4) / (3 * x.var() ** 2)
    assert abs(hkt.kappa(h.q, h.k, causal=True) - kappa) < 1e-9 * kappa, (kappa, row)
    assert abs(float(row[4]) - kappa) < 1e-9 * kappa and [int(c) for c in row[1:4]] == [h.layer, h.level, h.head]
    assert np.allclose(hkt.scores(h.q, h.k), s, rtol=1e-12, atol=1e-14)
    w = np.linalg.eigvalsh((s + s.T) / 2)
    tol = len(w) * np.finfo(float).eps * abs(w).max()
    i = hkt.inertia(h.q, h.k)
    assert (i.positive, i.negative, i.zero) == ((w > tol).sum(), (w < -tol).sum(), (abs(w) <= tol).sum()), (i, w)
    assert [int(c) for c in row[5:8]] == list(i[:3])
a = np.array([[2.0, 1], [1, 2]])
assert hkt.certify(a).verdict == "definite" and hkt.certify(a - 2 * np.eye(2)).verdict == "negative"
try:
    hkt.kappa(np.full((3, 2), np.nan), np.ones((3, 2)))
    raise SystemExit("NaN passed")
except hkt.Error as e:
    assert e.status == 3 and "hkt_kurtosis_head: q[0, 0]" in str(e), e
P
    # shellcheck disable=SC2086
    check "hkt.py agrees with numpy and with head.c" env PYTHONDONTWRITEBYTECODE=1 "$python" check.py $tokens
fi
# Tables, by the programs of that prefix, in pandas and in R: both see the same.
mkdir tables
for what in describe kurtosis spectrum inertia asymmetry gates bands information; do
    hkt-analyze $what --checkpoint run/best.safetensors --data data --out tables/$what.tsv 2>/dev/null || exit 1
done
hkt-analyze cost --out tables/cost.tsv
cp run/log.tsv run/log.tsv.json tables
for pandas in /usr/bin/python3 python3 none; do
    "$pandas" -c 'import pandas' 2>/dev/null && break
done
if [ "$pandas" != none ]; then
    check "tables.py" sh -c "$pandas tables.py tables/*.tsv >pandas.txt"
    check "sees every cell" sh -c "awk -F '\t' '{ n[\$1] = \$2; c[\$1]++; m[\$1] += \$5 } END { for (f in n) print f, n[f], c[f], m[f] }' pandas.txt |
        sort >seen && for f in tables/*.tsv; do awk -F '\t' -v f=\$f 'NR > 1 { for (i = 1; i <= NF; i++) m += \$i == \"NA\" } END { print f, NR - 1, NF, m + 0 }' \$f; done |
        sort | cmp seen -"
fi
if command -v Rscript >/dev/null; then
    check "tables.R" sh -c "Rscript tables.R tables/*.tsv >r.txt"
    [ "$pandas" = none ] || check "sees what pandas sees" sh -c "cut -f 1-3,5 pandas.txt >a; cut -f 1-3,5 r.txt | cmp a -"
fi
check "hkt.py has fewer than 200 lines" test "$(wc -l <hkt.py)" -lt 200
cd ..
check "make uninstall" install_to "$prefix" "$lib" uninstall
check "leaves nothing" sh -c "! find prefix -type f -o -type l | grep ."

# A clone that is owned by somebody else: its commit is known and nothing is written into it.
if [ "$(id -u)" = 0 ] && git clone -q --no-hardlinks "$HKT_SOURCE" clone 2>/dev/null; then
    chown -R 65534:65534 clone
    find clone ! -user 65534 >before
    env -u MAKEFLAGS -u MAKELEVEL make -s -C clone DEPS=no BUILD="$PWD/elsewhere" "$PWD/elsewhere/commit.h" >make.log 2>&1
    check "the commit of somebody else's clone" \
        grep -q "HKT_COMMIT \"$(git -c safe.directory='*' -C clone rev-parse --short=12 HEAD)\"" elsewhere/commit.h
    find clone ! -user 65534 >after
    check "nothing is written into it" cmp before after
fi
finish
