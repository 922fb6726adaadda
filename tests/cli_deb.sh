#!/bin/sh
# The Debian packages: made from a clone, without an error of lintian, used where they are unpacked; and, as root with
# mmdebstrap and Debian's archive within reach, installed, used and purged in a fresh root. Slow: compiles everything once.
set -u
. "$HKT_SOURCE/tests/tap.sh"
[ "${HKT_TIER:-fast}" = slow ] || { echo "1..0"; exit 0; }
for tool in git dpkg-buildpackage dh lintian; do
    command -v $tool >/dev/null || { echo "1..0 # $tool is not installed"; exit 0; }
done
git -c safe.directory='*' clone -q "$HKT_SOURCE" clone || exit 1
commit=$(git -c safe.directory='*' -C clone rev-parse --short=12 HEAD)
clean="env -u MAKEFLAGS -u MAKELEVEL -u BUILD make -s"
check "make deb" $clean -C clone deb
check "hkt, libhkt0, libhkt-dev" sh -c 'for p in hkt libhkt0 libhkt-dev; do ls clone/build/deb/${p}_0.1.0_*.deb || exit 1; done'
check "lintian finds no error" sh -c 'lintian --fail-on error clone/build/deb/hkt_0.1.0_*.changes'
mkdir debs root
for deb in clone/build/deb/*.deb; do
    case $deb in *dbgsym*) ;; *) cp "$deb" debs && dpkg-deb -x "$deb" root ;; esac
done

# What is done with the packages, by its own names; also run inside of the fresh root, without a word of this tree.
cat >use.sh <<'U'
set -eu
cd "$(mktemp -d)"
hkt-train -V | grep "$1"
hkt-verify cost --quick --only closed-form | grep HOLDS
hkt-data listops --out data --train 60 --val 12 --test 8 --min-length 5 --max-length 30 --max-depth 4 --max-args 4
hkt-train --data data --d-model 8 --heads 2 --layers 1 --levels 2 --batch-tokens 300 --steps 3 --max-len 30 --out run
hkt-analyze kurtosis --checkpoint run/best.safetensors --data data --out kurtosis.tsv
cc -Wall -Wextra -Werror $(pkg-config --cflags hkt) "$2/usr/share/doc/libhkt-dev/examples/head.c" -o head $(pkg-config --libs hkt)
./head run/best.safetensors 1 2 3 | grep certificate
cc $(pkg-config --cflags hkt) "$2/usr/share/doc/libhkt-dev/examples/head.c" -o static $(pkg-config --static --libs hkt | sed 's/-lhkt/-l:libhkt.a/')
./static run/best.safetensors 1 2 3 | grep certificate
U
lib=$(cd root && ls -d usr/lib/*/)
unpacked() { # PREFIX is /usr in hkt.pc: pkg-config is told where that is
    env PATH="$PWD/root/usr/bin:$PATH" LD_LIBRARY_PATH="$PWD/root/$lib" LIBRARY_PATH="$PWD/root/$lib" PKG_CONFIG_SYSROOT_DIR="$PWD/root" \
        PKG_CONFIG_PATH="$PWD/root/${lib}pkgconfig" sh use.sh "$commit" "$PWD/root"
}
check "used where they are unpacked" unpacked

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo "# a fresh root: needs root and mmdebstrap: left out"
    finish
    exit
fi
# The image is of this release, so that the libraries are those that the packages were built with.
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
if ! mmdebstrap --variant=apt "$release" fresh >fresh.log 2>&1; then
    tail -n 2 fresh.log | sed 's/^/# /'
    echo "# a fresh root: Debian's archive cannot be reached: left out"
    finish
    exit
fi
cp debs/*.deb use.sh fresh/root
inside() { chroot fresh env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -c "$1"; }
files() { (cd fresh && find usr etc opt var/lib/dpkg/info -name '*hkt*' | sort); }
check "installed" inside 'apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config /root/*.deb'
check "used there" inside "sh /root/use.sh $commit ''"
check "its manual, completion and plots are there" sh -c 'cd fresh/usr/share && ls man/man1/hkt-train.1.gz man/man3/hkt.3.gz \
    bash-completion/completions/hkt-train zsh/vendor-completions/_hkt-train hkt/plots/style.gp doc/hkt/README.md.gz'
check "purged" inside 'apt-get purge -y -qq hkt libhkt0 libhkt-dev'
files >left.txt
check "nothing is left" sh -c 'cat left.txt; ! [ -s left.txt ]'
rm -rf fresh
finish
