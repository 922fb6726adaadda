#!/bin/sh
# shellcheck disable=SC2154 # tab: from common.sh
# Rows of agreement.tsv: on how many test sequences two runs both are right, for all pairs of runs of one task whose
# answers are kept and that were evaluated on the same ones.    usage: sh agreement.sh ANSWERS
set -eu
cd "$(dirname "$0")"
. ./common.sh
named "task${tab}test_data${tab}model${tab}setting${tab}seed${tab}right" "$1" | LC_ALL=C sort | awk -F '\t' '
    BEGIN { for (i = 0; i < 256; i++) { n = 0; for (b = 1; b < 16; b *= 2) n += int(i / 16 / b) % 2 * (int(i % 16 / b) % 2)
                both[sprintf("%x%x", int(i / 16), i % 16)] = n } }
    { for (i = 1; i <= n && $1 FS $2 == of; i++) {
          count = 0
          for (k = length($6); k > 0; k--) count += both[substr($6, k, 1) substr(right[i], k, 1)]
          print $1 FS run[i] FS $3 FS $4 FS $5 FS count
      }
      if ($1 FS $2 != of) n = 0
      of = $1 FS $2; right[++n] = $6; run[n] = $3 FS $4 FS $5 }'
