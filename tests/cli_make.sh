#!/bin/sh
# What the Makefile refuses before it compiles.
. "$HKT_SOURCE/tests/tap.sh"
fails "another processor than x86_64 and aarch64" 2 "hkt: expected an x86_64 or aarch64 processor, found riscv64" \
    make -s -n -C "$HKT_SOURCE" ARCH=riscv64 all
check "in one line" test "$(wc -l <fails.err)" -eq 1
check "control: x86_64" make -s -n -C "$HKT_SOURCE" ARCH=x86_64 BUILD="$PWD/none" all
finish
