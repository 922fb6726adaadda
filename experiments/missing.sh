#!/bin/sh
# Prints those of the runs SETTING/MODEL/SEED that have no row, neither in results/ nor in their directory, that was made
# with the present content of their ini.    usage: WORK=DIR INI=DIR sh missing.sh RUN...
set -eu
cd "$(dirname "$0")"
. ./common.sh
whole "$WORK/results/runs.tsv"
done_runs=$({
    [ ! -e "$WORK/results/runs.tsv" ] || key_of "$WORK/results/runs.tsv"
    for r; do [ ! -e "$WORK/runs/$r/row.tsv" ] || key_of "$WORK/runs/$r/row.tsv"; done
})
for r; do
    # Without its ini a run is missing; `list` and hkt-train say so.
    [ -e "$INI/${r%%/*}.ini" ] || { echo "$r" && continue; }
    echo "$done_runs" | grep -qxF "$r $(config_of "${r%%/*}")" || echo "$r"
done
