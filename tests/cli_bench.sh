#!/bin/sh
# hkt-bench as a program: keys, consistency of the numbers, linear memory, errors.
set -u
. "$HKT_SOURCE/tests/tap.sh"

small="--d-model 16 --heads 2 --layers 1 --seq-len 48 --batch 2 --repeats 2 --threads 2"
value() { sed -n "s/^ *\"$2\": \\([-+0-9.e]*\\),*\$/\\1/p" "$1" | head -n 1; }
holds() { awk "BEGIN { exit !($1) }"; }

check "step" sh -c "hkt-bench step --model hkt --levels 3 $small --json - >step.json"
for key in tokens_per_s tokens_per_s_low tokens_per_s_high seconds forward_tokens_per_s madds_per_step madds_per_s \
    parameters workspace_bytes peak_rss_bytes gemm_madds_per_s share_of_gemm; do
    check "step: $key is positive" holds "0$(value step.json $key) > 0"
done
check "step: the spread holds the median" holds "$(value step.json tokens_per_s_low) <= $(value step.json tokens_per_s) && $(value step.json tokens_per_s) <= $(value step.json tokens_per_s_high)"
check "step: tokens/s is tokens over seconds" holds "($(value step.json tokens_per_s) * $(value step.json seconds) - 96) ^ 2 < 1e-12"
check "step: the share is a quotient" holds "($(value step.json share_of_gemm) * $(value step.json gemm_madds_per_s) / $(value step.json madds_per_s) - 1) ^ 2 < 1e-20"
for m in "hkt --fusion dynamic" "hkt --fusion score" mha; do
    check "attention of $m" sh -c "hkt-bench attention --model $m $small --json attention.json && grep -q forward_tokens_per_s attention.json && grep -q backward_tokens_per_s attention.json"
done
check "step --profile" sh -c "hkt-bench step $small --profile --json profile.json"
shares=$(sed -n 's/^ *"time_[a-z_]*": \([-+0-9.e]*\),*$/\1/p' profile.json)
check "profile: the shares add up to the whole" holds "($(echo $shares | tr ' ' '+') - 1) ^ 2 < 1e-20"
check "profile: none is negative" holds "$(echo $shares | sed 's/ / >= 0 \&\& /g') >= 0"
check "profile: the copy is timed" holds "0$(value profile.json copy_bytes_per_s) > 0 && 0$(value profile.json bytes_per_s_gelu) > 0"
check "step --ragged" sh -c "hkt-bench step $small --batch 40 --ragged --json ragged.json"
check "ragged: shorter sequences" holds "$(value ragged.json tokens) < 40 * 48 && $(value ragged.json tokens) >= 40 * 6"
check "exp" sh -c "hkt-bench exp --repeats 1 --json exp.json"
check "exp and tanh are right to 2 ulp" holds "$(value exp.json exp_worst_ulp) <= 2 && $(value exp.json tanh_worst_ulp) <= 2"
check "psd" sh -c "hkt-bench psd --seq-len 4096 --repeats 1 --json psd.json && grep -q share_in_blas psd.json"
check "kurtosis" sh -c "hkt-bench kurtosis $small --json kurtosis.json"
check "kurtosis: over the forward pass" holds "$(value kurtosis.json over_forward) > 0"
if [ "${HKT_TIER:-fast}" = slow ]; then
    check "hkt-verify cost --measure" sh -c "hkt-verify cost --measure --quick --json cost.json"
    check "cost: every length is measured twice" [ "$(grep -c 8192 cost.json)" -ge 2 ]
fi
check "gemm as text" sh -c 'hkt-bench gemm --repeats 1 >gemm && grep -Eq "^gemm_madds_per_s +[0-9]" gemm'

# Workspace of one sequence, four times as long: about four times as much, not sixteen (memory is linear in T).
for T in 128 512 2048; do
    hkt-bench step --d-model 16 --heads 2 --layers 1 --seq-len $T --batch 1 --repeats 1 --json T$T.json >/dev/null
done
a=$(value T128.json workspace_bytes) b=$(value T512.json workspace_bytes) c=$(value T2048.json workspace_bytes)
echo "# workspace at T = 128, 512, 2048: $a $b $c bytes"
check "memory grows linearly with the length" holds "$c - $b < 4.2 * ($b - $a) && $c - $b > 3.8 * ($b - $a)"

fails "no command" 2 "expected a command" hkt-bench
fails "an unknown command" 2 "unknown command 'stepp' (did you mean 'step'?)" hkt-bench stepp
fails "heads that do not divide the width" 3 "heads" hkt-bench step --heads 3
fails "no repeats" 2 "--repeats" hkt-bench step --repeats 0
finish
