#!/bin/sh
# Fuzzes every reader of fuzz.c for SECONDS, from the kept corpus and what earlier runs found; prints a line per reader.
# usage: BUILD=DIR sh tests/fuzz/run.sh SECONDS [READER...]       BUILD: where `make fuzz` has built
set -u
seconds=$1
shift
corpus=$(dirname "$0")/corpus
[ $# -gt 0 ] || set -- $(ls "$corpus")
failed=0
ln -sf fuzz "$BUILD/fuzz_control" # leaves memory allocated: must fail
if "$BUILD/fuzz_control" "$0" >/dev/null 2>&1; then
    echo "control      FAILED: not noticed"
    failed=1
fi
for reader; do
    mkdir -p "$BUILD/found/$reader" "$BUILD/crash"
    ln -sf fuzz "$BUILD/fuzz_$reader"
    # UTF-8 and numbers grow from the seeds; 64 kB are more than any structure needs.
    if "$BUILD/fuzz_$reader" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -close_fd_mask=3 -artifact_prefix="$BUILD/crash/$reader-" "$BUILD/found/$reader" "$corpus/$reader" >"$BUILD/$reader.log" 2>&1; then
        printf '%-12s %s executions, %s edges, nothing found\n' "$reader" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$BUILD/$reader.log")" \
            "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$BUILD/$reader.log" | tail -n 1)"
    else
        printf '%-12s FAILED: %s\n' "$reader" "$BUILD/$reader.log"
        grep -m 3 'ERROR\|internal error\|SUMMARY' "$BUILD/$reader.log" | sed 's/^/    /'
        failed=1
    fi
done
exit $failed
