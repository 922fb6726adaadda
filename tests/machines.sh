#!/bin/sh
# The tests of what computes, as this machine would run them if it were another: once for each instruction set and each core
# of OpenBLAS that it can pretend to have. The last line is the sum, "N passed, N failed".
#    usage: BUILD=build CLANG=build/clang sh tests/machines.sh       (CLANG: a build by clang, or nothing)
set -u
computing='ablate adamw approximation asymmetry attention bands causality certify decay elementary evaluate golden gradients gram
    gram_stream hierarchy information kernels mardia moments multiple net opt part position rank scores split subsumption vmath'
passed=0
failed=0
# variant BUILD MODULES [NAME=VALUE]: "WHAT  N passed, N failed", and the lines of what failed
variant() {
    build=$1 modules=$2 what=${3:-as it is}
    env ${3:+"$3"} BUILD="$build" MODULE="$modules" sh tests/run.sh fast >"$log" 2>&1
    count=$(tail -n 1 "$log" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    count=${count:-0 1}
    passed=$((passed + ${count% *}))
    failed=$((failed + ${count#* }))
    printf '%-12s %-34s %4d ok %3d failed\n' "$build" "$what" "${count% *}" "${count#* }"
    case $count in *' 0') ;; *) grep -v ' ok   0 failed ' "$log" ;; esac
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for isa in avx2 generic; do
    if [ "$(HKT_ISA=$isa "$BUILD/bin/hkt-bench" exp --repeats 1 --json - | sed -n 's/.*"isa": "\([a-z0-9]*\)".*/\1/p' | head -n 1)" = $isa ]; then
        variant "$BUILD" "$computing" HKT_ISA=$isa
    else
        echo "$BUILD: HKT_ISA=$isa: not on this processor"
    fi
done
for core in Haswell Zen SkylakeX Sandybridge Prescott; do
    case $core in
    SkylakeX) flag=avx512f ;;
    Haswell | Zen) flag=avx2 ;;
    Sandybridge) flag=avx ;;
    *) flag=ssse3 ;;
    esac
    if grep -qw $flag /proc/cpuinfo; then
        variant "$BUILD" "$computing" OPENBLAS_CORETYPE=$core
    else
        echo "$BUILD: OPENBLAS_CORETYPE=$core: not on this processor"
    fi
done
[ -z "${CLANG:-}" ] || variant "$CLANG" 'bytes golden kernels vmath'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
