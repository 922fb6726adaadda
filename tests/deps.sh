#!/bin/sh
# Installs what the build, the tests and the demo need (Debian/Ubuntu); elsewhere prints one line per missing package.
set -u
have() { command -v "$1" >/dev/null 2>&1; }
missing=
need() { # need PACKAGE TEST...: adds PACKAGE unless the test succeeds
    p=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $p"
}
need make have make
need gcc have gcc
need g++ have g++
case ${CC:-gcc} in *clang*) need clang have "$CC"; need libomp-dev sh -c "echo 'int main(void){return 0;}' | $CC -fopenmp -xc - -o /dev/null"; need libclang-rt-dev sh -c "echo 'int main(void){return 0;}' | $CC -fsanitize=address -xc - -o /dev/null" ;; esac
need libc6-dev test -e /usr/include/stdio.h
need pkg-config have pkg-config
need libgsl-dev pkg-config --exists gsl
need libopenblas-dev pkg-config --exists openblas
need liblapacke-dev pkg-config --exists lapacke
need libjansson-dev pkg-config --exists jansson
need libinih-dev pkg-config --exists inih
need libarchive-dev pkg-config --exists libarchive
need libxxhash-dev pkg-config --exists libxxhash
need libflint-dev test -e /usr/include/flint/flint.h
need libflint-arb-dev sh -c 'test -e /usr/include/arb.h || test -e /usr/include/flint/arb.h'
need libgmp-dev pkg-config --exists gmp
need librandom123-dev test -e /usr/include/Random123/philox.h
need libcmocka-dev pkg-config --exists cmocka
need gnuplot-nox have gnuplot
if [ "${CI:-}" = true ]; then # tests that are left out without
    need python3-pandas sh -c 'python3 -c "import pandas" || /usr/bin/python3 -c "import pandas"'
    need python3-jsonschema sh -c 'python3 -c "import jsonschema" || /usr/bin/python3 -c "import jsonschema"'
fi
need fonts-dejavu-core test -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
if [ -n "${CROSS:-}" ]; then # make test-arm64; the libraries are unpacked by sysroot.sh
    need gcc-aarch64-linux-gnu have "$CROSS-gcc"
    need qemu-user-static have qemu-aarch64-static
fi
[ -z "$missing" ] && exit 0
if ! have apt-get; then
    for p in $missing; do echo "missing: $p (Debian package name)" >&2; done
    exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    have sudo || { for p in $missing; do echo "missing: $p (no sudo to install it)" >&2; done; exit 1; }
    sudo=sudo
fi
echo "installing:$missing" >&2
log=$(mktemp)
if { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    rm -f "$log"
else
    tail -n 5 "$log" >&2
    echo "could not install:$missing (log: $log)" >&2
    exit 1
fi
