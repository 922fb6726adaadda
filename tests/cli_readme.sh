#!/bin/sh
# The lines of README.md as a new user types them, in their order, in a fresh clone: each ends with status 0, and what they
# write is ignored by git. The programs are those that are built already. Not typed: `make demo`, `make test` and the
# other targets, which build or install, and downloads. What README takes to be there (a published archive, a model, arrays,
# the folder of the demo) is put there first, small.
set -u
. "$HKT_SOURCE/tests/tap.sh"
git -c safe.directory='*' clone -q "$HKT_SOURCE" clone 2>/dev/null || { echo "1..0 # no git repository here"; exit 0; }
cd clone || exit 1
cp "$HKT_SOURCE/README.md" "$HKT_SOURCE/.gitignore" . # before a commit, too
for numpy in python3 /usr/bin/python3 none; do "$numpy" -c "import numpy" 2>/dev/null && break; done

# Lines of the block of programs, without their comments; behind each the commands that its comment has whole.
sed -n '/^## Programs/,/^## /p' README.md | sed -n '/^```$/,/^```$/p' | awk '
    /^(hkt-|experiments\/)/ { line = $0; sub(/  +# .*/, "", line); print line }
    { while (match($0, /`hkt-[a-z0-9 -]+`/)) { print substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH) } }
' >lines.txt
# Training takes minutes, as README says. What takes seconds is left as it is for make test-slow.
sed -i 's/^hkt-train --data data .*/& --steps 20 --d-model 16 --heads 2/' lines.txt
[ "${HKT_TIER:-fast}" = slow ] || sed -i -e 's/^hkt-verify psd.*/& --quick/' -e 's/1048576/65536/' \
    -e 's/^hkt-verify all/hkt-verify cost/' -e 's/^hkt-bench .*/& --repeats 1/' lines.txt

left_out() { # left_out LINE: prints why it is not typed
    case $1 in
    *cifar-10.tar.xz*) [ "$HKT_TIER" = slow ] || echo "180 MB are read by make test-slow" ;;
    *gpt2/* | *.npy\ k.npy*) [ "$numpy" != none ] || echo "needs numpy" ;;
    experiments/peers/*) { [ "$HKT_TIER" = slow ] && python3 -c "import torch" 2>/dev/null; } || echo "takes minutes and PyTorch" ;;
    *hkt-plot\ [a-km-z]*) command -v gnuplot >/dev/null || echo "needs gnuplot" ;;
    esac
}
stand_ins() { # stand_ins LINE: what README takes to be there
    case $1 in
    *cifar-10.tar.xz*)
        python3 - <<'P'
import io, os, tarfile
with tarfile.open("cifar-10.tar.xz", "w") as t:
    for name in ["data_batch_%d.bin" % i for i in range(1, 6)] + ["test_batch.bin"]:
        rows = b"".join(bytes([i % 10]) + os.urandom(3072) for i in range(10000))
        entry = tarfile.TarInfo("cifar-10-batches-bin/" + name)
        entry.size = len(rows)
        t.addfile(entry, io.BytesIO(rows))
P
        ;;
    *"--input G"*)
        header='{"input.tokens":{"dtype":"U8","shape":[1,4],"data_offsets":[0,4]},"input.lengths":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},"input.labels":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}}'
        printf "\\$(printf %o ${#header})\0\0\0\0\0\0\0%s\1\2\3\4\4\1" "$header" >G
        cp run/best.safetensors F
        ;;
    *gpt2/*)
        mkdir ../models
        (cd ../models && PYTHONDONTWRITEBYTECODE=1 "$numpy" "$HKT_SOURCE/tests/foreign_models.py" make)
        cp -r ../models/gpt2 gpt2
        ;;
    *.npy\ k.npy*) "$numpy" -c '
import numpy as np
g = np.random.default_rng(1)
for name in "qk": np.save(name + ".npy", g.standard_normal((1, 2, 2, 16, 4)))' ;;
    "hkt-plot all"*)
        mkdir demo
        cp -r run ./*.tsv ./*.tsv.json demo
        ;;
    esac
}
typed=0
while IFS= read -r line; do
    why=$(left_out "$line")
    if [ -n "$why" ]; then
        echo "# $line: $why: left out"
        continue
    fi
    stand_ins "$line" >/dev/null 2>&1
    typed=$((typed + 1))
    check "$line" sh -c "$line" </dev/null
done <lines.txt
check "at least twenty lines" test $typed -ge 20
for line in "hkt-train --data" "hkt-eval --checkpoint run" "hkt-check certificates" "hkt-data inspect data" "hkt-plot list" "hkt-analyze families"; do
    check "among them: $line" grep -q "^$line" lines.txt
done
rm -rf cifar-10.tar.xz F G gpt2 q.npy k.npy lines.txt check.log
git checkout -q README.md .gitignore
cd ..
cp "$HKT_SOURCE/.gitignore" ignore # as it is now, also before it is committed
check "what they wrote is ignored by git" sh -c \
    'git -C clone -c core.excludesFile="$PWD/ignore" status --porcelain >status.txt && cat status.txt && ! [ -s status.txt ]'
check "control: it is there" sh -c 'cd clone && ls certificates verify.json out.npy figures report.html heads.tsv'
: >clone/new
check "control: another file would be seen" sh -c 'git -C clone -c core.excludesFile="$PWD/ignore" status --porcelain | grep -q new'
finish
