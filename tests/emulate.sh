#!/bin/sh
# A script for each program and test of a build for arm64, which runs it under qemu as if this machine could.
# usage: emulate.sh BUILD DIR        (BUILD/sysroot: its libraries; scripts in DIR/bin and DIR/tests)
set -eu
build=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2/bin" "$2/tests"
for program in "$build"/bin/* "$build"/tests/test_*; do
    [ -x "$program" ] || continue
    script=$2/${program#"$build/"}
    # argv[0] is the script, so that a program that starts itself comes here again. OpenBLAS's own threads hang under qemu.
    cat >"$script" <<END
#!/bin/sh
OPENBLAS_NUM_THREADS=1 exec qemu-aarch64-static -L '$build/sysroot' -0 "\$0" '$program' "\$@"
END
    chmod +x "$script"
done
