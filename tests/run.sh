#!/bin/sh
# Runs the test programs and scripts of one tier, as many at a time as there are processors, and ends with "N passed, N
# failed".    usage: BUILD=build sh tests/run.sh fast|slow
# MODULE='NAME...' restricts to tests/test_NAME.c and tests/cli_NAME.sh; JOBS=N: how many at a time.
set -u
modules=$(ls tests/cli_*.sh tests/test_*.c | sed 's,tests/,,; s,\.[a-z]*$,,')
wanted=
for name in ${MODULE:-}; do
    if ! found=$(echo "$modules" | grep -x "test_$name\|cli_$name"); then
        echo "no module '$name': expected one of $(echo "$modules" | sed 's/^[a-z]*_//' | sort -u | tr '\n' ' ')" >&2
        exit 1
    fi
    wanted="$wanted$found
"
done
[ -z "$wanted" ] || modules=$(echo "$wanted" | sort -u | sed '/^$/d')
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
# Of its own: several may run in one tree at a time. A folder whose run was killed goes with the next run.
WORK=$BUILD/test-work/$$
for old in "$BUILD"/test-work/*; do
    kill -0 "$(basename "$old")" 2>/dev/null || rm -rf "$old"
done
rm -rf "$WORK"
mkdir -p "$WORK"
export BUILD WORK HKT_TIER="$1" HKT_SOURCE="$PWD"
# Waiting threads sleep: on a shared machine spinning costs more than it saves.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
echo "$modules" | xargs -n 1 -P "${JOBS:-$(nproc)}" sh tests/one.sh
[ "$(ls "$WORK"/*.count | wc -l)" -eq "$(echo "$modules" | wc -l)" ] || echo "0 1" >"$WORK/lost.count"
cat "$WORK"/*.count | awk '{ ok += $1; no += $2 } END { printf "%d passed, %d failed\n", ok, no; exit no > 0 || ok == 0 }'
