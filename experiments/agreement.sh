#!/bin/sh
# shellcheck disable=SC2154 # tab: from common.sh
# Rows of results/agreement.tsv: on how many test sequences two runs both are right, for all pairs of finished runs that
# were evaluated on the same ones (sequences.tsv beside their row).    usage: WORK=DIR sh agreement.sh
set -eu
cd "$(dirname "$0")"
. ./common.sh
[ -d "$WORK/runs" ] || exit 0
cd "$WORK/runs"
find . -name row.tsv | sort | while read -r row; do
    dir=${row%/row.tsv}
    [ -e "$dir/sequences.tsv" ] || continue
    run=$(named "task${tab}test_data${tab}model${tab}setting${tab}seed" "$row")
    named right "$dir/sequences.tsv" | awk -v run="$run" '{ s = s $1 } END { print run "\t" s }'
done | LC_ALL=C sort | awk -F '\t' '
    { for (i = 1; i <= n && $1 FS $2 == of; i++) {
          both = 0
          for (k = length($6); k > 0; k--) both += substr($6, k, 1) + substr(right[i], k, 1) == 2
          print $1 FS run[i] FS $3 FS $4 FS $5 FS both
      }
      if ($1 FS $2 != of) n = 0
      of = $1 FS $2; right[++n] = $6; run[n] = $3 FS $4 FS $5 }'
