#!/bin/sh
# One module for run.sh: counts its cmocka or TAP result lines in $WORK/NAME.count; a crash or a run without any result is
# one failure.    usage: one.sh NAME
set -u
name=$1
dir=$WORK/$name
log=$WORK/$name.log
mkdir -p "$dir"
case $name in
test_*) set -- "$BUILD/tests/$name" ;;
*) set -- sh "$HKT_SOURCE/tests/$name.sh" ;;
esac
start=$(date +%s.%N)
(cd "$dir" && TMPDIR=$PWD "$@") >"$log" 2>&1 </dev/null
rc=$?
end=$(date +%s.%N)
ok=$(grep -c '^\[       OK \]\|^ok ' "$log")
# cmocka names a failed test twice: where it ran and in the summary.
no=$(grep '^\[  FAILED  \] [A-Za-z_0-9]*$\|^not ok ' "$log" | sort -u | wc -l)
if [ $rc -ne 0 ] && [ "$no" -eq 0 ]; then no=1; fi
if [ $rc -eq 0 ] && [ "$ok" -eq 0 ] && ! grep -q '^1\.\.0' "$log"; then no=1; fi
line=$(printf '%-28s %4d ok %3d failed %7.1f s' "$name" "$ok" "$no" "$(echo "$end $start" | awk '{print $1 - $2}')")
if [ "$no" -eq 0 ]; then
    rm -rf "$dir"
    echo "$line"
    sed -n 's/^1\.\.0 # \(.*\)/    \1: left out/p; s/^# \(.*left out\)$/    \1/p' "$log"
else
    printf '%s\n%s\n' "$line" "$(grep -v '^ok \|^\[       OK \]\|^\[ RUN ' "$log" | tail -n 60 | sed 's/^/    /')"
fi
echo "$ok $no" >"$WORK/$name.count"
