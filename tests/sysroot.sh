#!/bin/sh
# Unpacks Debian's libraries for arm64 into a directory of its own, against which `make CROSS=aarch64-linux-gnu` builds. They
# are not installed: libgsl-dev for arm64 would take the place of this machine's.    usage: sysroot.sh DIR
set -eu
root=$1
packages="libc6-dev libgomp1 libgsl-dev libopenblas-dev liblapacke-dev libjansson-dev libinih-dev libarchive-dev libxxhash-dev
    librandom123-dev libcmocka-dev libflint-dev libflint-arb-dev libgmp-dev"
made="$packages, links inside"
[ "$(cat "$root/packages" 2>/dev/null)" != "$made" ] || exit 0
command -v apt-get >/dev/null || { echo "sysroot: the libraries for arm64 come from Debian: no apt-get here" >&2; exit 1; }
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial"
: >"$root/apt/status"
absolute=$(cd "$root" && pwd)
# An empty list of installed packages, all of arm64: the dependencies are complete, and nothing of this machine is changed.
apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$absolute/apt" \
        -o Dir::State::status="$absolute/apt/status" -o Dir::Cache="$absolute/apt/cache" -o APT::Sandbox::User= "$@"
}
echo "unpacking libraries for arm64 into $root" >&2
# shellcheck disable=SC2086 # a list
if ! { apt update && apt install -y --download-only --no-install-recommends $packages; } >"$root/log" 2>&1; then
    tail -n 5 "$root/log" >&2
    exit 1
fi
for deb in "$root"/apt/cache/archives/*.deb; do
    dpkg-deb -x "$deb" "$root"
done
# A link to /lib is one of this machine: libm.so, in whose place the linker would take the static one.
find "$absolute" -type l | while read -r link; do
    case $(readlink "$link") in /*) ln -sfn "$absolute$(readlink "$link")" "$link" ;; esac
done
# What the packages do when they are installed: OpenBLAS is the BLAS and LAPACK.
libs=$root/usr/lib/aarch64-linux-gnu
(cd "$libs" && ln -sf openblas-pthread/*.so* .)
for name in openblas blas-openblas lapack-openblas; do
    ln -sf "../openblas-pthread/pkgconfig/$name.pc" "$libs/pkgconfig/${name%-openblas}.pc"
done
rm -rf "$root/apt" "$root/log"
echo "$made" >"$root/packages"
