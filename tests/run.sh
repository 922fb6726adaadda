#!/bin/sh
# Runs the test programs and scripts of one tier and ends with "N passed, N failed".
# usage: BUILD=build sh tests/run.sh fast|slow      MODULE=NAME restricts to tests/test_NAME.c and tests/cli_NAME.sh
set -u
if [ -n "${MODULE:-}" ] && [ ! -e "tests/test_$MODULE.c" ] && [ ! -e "tests/cli_$MODULE.sh" ]; then
    echo "no module '$MODULE': expected one of $(ls tests/test_*.c tests/cli_*.sh | sed 's,.*/[a-z]*_,,; s,\..*,,' | sort -u | tr '\n' ' ')" >&2
    exit 1
fi
tier=$1
BUILD=${BUILD:-build}
work=$BUILD/test-work
rm -rf "$work"
mkdir -p "$work"
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export BUILD HKT_TIER="$tier" HKT_SOURCE="$PWD"
# Waiting threads sleep: on a shared machine spinning costs more than it saves.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
passed=0
failed=0
one() { # one NAME COMMAND...: counts cmocka/TAP result lines; a crash or a run without any result is one failure
    name=$1
    shift
    dir=$work/$name
    mkdir -p "$dir"
    start=$(date +%s.%N)
    (cd "$dir" && TMPDIR=$PWD "$@") >"$work/$name.log" 2>&1 </dev/null
    rc=$?
    end=$(date +%s.%N)
    ok=$(grep -c '^\[       OK \]\|^ok ' "$work/$name.log")
    # cmocka names a failed test twice: where it ran and in the summary.
    no=$(grep '^\[  FAILED  \] [A-Za-z_0-9]*$\|^not ok ' "$work/$name.log" | sort -u | wc -l)
    if [ $rc -ne 0 ] && [ "$no" -eq 0 ]; then no=1; fi
    if [ $rc -eq 0 ] && [ "$ok" -eq 0 ] && ! grep -q '^1\.\.0' "$work/$name.log"; then no=1; fi
    passed=$((passed + ok))
    failed=$((failed + no))
    printf '%-28s %4d ok %3d failed %7.1f s\n' "$name" "$ok" "$no" "$(echo "$end $start" | awk '{print $1 - $2}')"
    if [ "$no" -ne 0 ]; then
        tail -n 40 "$work/$name.log" | sed 's/^/    /'
    else
        rm -rf "$dir"
    fi
}
for t in "$PWD"/tests/test_*.c; do
    n=$(basename "$t" .c)
    [ -n "${MODULE:-}" ] && [ "$n" != "test_$MODULE" ] && continue
    one "$n" "$BUILD/tests/$n"
done
for t in "$PWD"/tests/cli_*.sh; do
    [ -e "$t" ] || continue
    n=$(basename "$t" .sh)
    [ -n "${MODULE:-}" ] && [ "$n" != "cli_$MODULE" ] && continue
    one "$n" sh "$t"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
