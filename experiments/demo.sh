#!/bin/sh
# The main job, end to end, in the folder demo/: data, training of HKT and MHA, evaluation, verification, analysis,
# figures, report. Ends with one table.       usage: BUILD=build sh experiments/demo.sh
set -eu
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} # on a shared machine spinning costs more than it saves
PATH=${BUILD:-build}/bin:$PATH
export HKT_PLOTS=${HKT_PLOTS:-$PWD/plots}
out=demo
here=experiments
started=$(date +%s)
say() { printf '\n== %s (%d s)\n' "$*" $(($(date +%s) - started)); }

rm -rf "$out"
mkdir -p "$out"
say "ListOps data, up to 512 tokens"
# Four fifths of the training rows are short, so that a minute of training goes beyond a look-up of the outermost operator.
hkt-data listops --out "$out/data" --stream --train 30000 --val 1000 --test 2000 --short-share 0.8 --operators MIN,MAX,MED
hkt-data inspect "$out/data" >"$out/data.txt"

for model in hkt mha; do
    say "training $model"
    hkt-train --config "$here/demo.ini" --model $model --data "$out/data" --out "$out/$model"
    hkt-eval --checkpoint "$out/$model/best.safetensors" --data "$out/data" --split test \
        --json "$out/$model/eval.json" >"$out/$model/eval.txt"
    hkt-eval --checkpoint "$out/$model/best.safetensors" --data "$out/data" --split val \
        --json "$out/$model/eval-val.json" >/dev/null # the baseline of the training curves
    head -n 4 "$out/$model/eval.txt"
done

say "verification of the trained HKT"
hkt-verify all --quick --checkpoint "$out/hkt/best.safetensors" --data "$out/data" --results "$here/results" \
    --json "$out/verify.json" --tsv "$out/verify.tsv" --certificate "$out/certificates" >"$out/verify.txt"
cat "$out/verify.txt"

say "certificates of the verdicts, decided by exact arithmetic"
hkt-check "$out"/certificates/*.cert >"$out/certificates.txt"
echo "$(wc -l <"$out/certificates.txt") certificates, all accepted: $out/certificates.txt"

say "analysis"
best="$out/hkt/best.safetensors"
analyze() { # analyze WHAT TABLE [options]: of the trained HKT on the validation split
    what=$1 table=$2
    shift 2
    hkt-analyze "$what" --checkpoint "$best" --data "$out/data" --split val --out "$out/$table.tsv" "$@"
}
analyze describe describe
analyze kurtosis kurtosis --sequences 128 --histogram "$out/histogram.tsv"
hkt-analyze kurtosis --run "$out/hkt" --data "$out/data" --split val --sequences 16 --out "$out/kurtosis-training.tsv"
analyze spectrum spectrum
analyze asymmetry asymmetry
analyze bands bands --sequences 64
analyze information information --sequences 64
analyze errors errors --target "$out/mha/best.safetensors"
analyze decay decay
analyze gates gates --sequences 128
analyze scores matrices --layer 0 --head 0
analyze ablate ablate --sequences 400
hkt-analyze compare "$out/hkt/kept/step-00000000.safetensors" "$best" --data "$out/data" --split val --sequences 64 \
    --out "$out/compare.tsv"
hkt-analyze cost --out "$out/cost.tsv"

# Beside this run: the recorded ones, which took hours.
for table in runs curves; do
    [ ! -e "$here/results/$table.tsv" ] || cp "$here/results/$table.tsv" "$out/$table.tsv"
done

say "figures"
hkt-plot all --from "$out" --out "$out/figures" --format pdf,png,svg

say "report"
hkt-plot report --from "$out" --out "$out/report.html"
for model in hkt mha; do
    head -n 4 "$out/$model/eval.txt"
done
echo
echo "What the checks establish and refute, by claim; then what is refuted (all of it: $out/verify.txt):"
sed -n '/^findings of/,$p' "$out/verify.txt"
echo
awk '/^claim / { on = $3 == "VIOLATED" } /^$/ { on = 0 } on' "$out/verify.txt"
echo
echo "report: $out/report.html   figures: $out/figures   seconds: $(($(date +%s) - started))"
