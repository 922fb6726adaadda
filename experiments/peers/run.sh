#!/bin/sh
# The same model in PyTorch (eager, CPU) and here, timed in turns on the same weights: the three settings of
# docs/performance.md, HKT with 3 levels, and MHA for the first two. Prints the ratio of tokens per second and of peak
# memory of each.
# usage: experiments/peers/run.sh [--install] [options of torch_step.py, such as --rounds 3]
#   --install   first install Debian's python3-torch (otherwise it must be there)
# BUILD: build directory (build). PYTHON: interpreter that has torch (/usr/bin/python3).
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
# Waiting threads sleep: spinning ones of one program would slow the other.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

if [ "${1:-}" = --install ]; then
    shift
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get install -y --no-install-recommends python3-torch
fi
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
    echo "run.sh: $PYTHON has no torch: '$0 --install' installs Debian's python3-torch" >&2
    exit 5
fi
if [ ! -x "$BUILD/bin/hkt-bench" ]; then
    echo "run.sh: $BUILD/bin/hkt-bench is not there: run make first" >&2
    exit 3
fi
setting() { # setting TEXT OPTIONS...
    echo "== $1"
    shift
    "$PYTHON" experiments/peers/torch_step.py --bin "$BUILD/bin" "$@"
}
setting "HKT, d 64, 4 heads, 2 layers, 32 x 512" --seq-len 512 --batch 32 "$@"
setting "HKT, d 64, 4 heads, 2 layers, 16 x 1024" --seq-len 1024 --batch 16 "$@"
setting "HKT, d 128, 8 heads, 2 layers, 32 x 512" --d-model 128 --heads 8 --seq-len 512 --batch 32 "$@"
setting "MHA, d 64, 4 heads, 2 layers, 32 x 512" --model mha --seq-len 512 --batch 32 "$@"
setting "MHA, d 64, 4 heads, 2 layers, 16 x 1024" --model mha --seq-len 1024 --batch 16 "$@"
