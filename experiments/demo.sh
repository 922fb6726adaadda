#!/bin/sh
# The main job, end to end, in the folder demo/: data, training of HKT and MHA, evaluation, verification, analysis,
# figures, report. Ends with one table.       usage: BUILD=build sh experiments/demo.sh
set -eu
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} # on a shared machine spinning costs more than it saves
PATH=${BUILD:-build}/bin:$PATH
out=demo
here=experiments
started=$(date +%s)
say() { printf '\n== %s (%d s)\n' "$*" $(($(date +%s) - started)); }

rm -rf "$out"
mkdir -p "$out"
say "ListOps data, up to 512 tokens"
hkt-data listops --out "$out/data" --train 30000 --val 1000 --test 2000
hkt-data inspect "$out/data" >"$out/data.txt"

for model in hkt mha; do
    say "training $model"
    hkt-train --config "$here/demo.ini" --model $model --data "$out/data" --out "$out/$model"
    hkt-eval --checkpoint "$out/$model/best.safetensors" --data "$out/data" --split test \
        --json "$out/$model/eval.json" | tee "$out/$model/eval.txt" | head -n 4
done

say "verification of the trained HKT"
hkt-verify all --quick --checkpoint "$out/hkt/best.safetensors" --data "$out/data" \
    --json "$out/verify.json" --tsv "$out/verify.tsv" | tee "$out/verify.txt"

say "analysis"
hkt-analyze kurtosis --checkpoint "$out/hkt/best.safetensors" --data "$out/data" --split val --sequences 128 \
    --out "$out/kurtosis.tsv" --histogram "$out/histogram.tsv"
hkt-analyze spectrum --checkpoint "$out/hkt/best.safetensors" --data "$out/data" --split val --out "$out/spectrum.tsv"
hkt-analyze cost --out "$out/cost.tsv"

say "figures"
hkt-plot all --from "$out" --out "$out/figures" --format pdf,png,svg

say "report"
sh "$here/report.sh" "$out" >"$out/report.md.new"
mv "$out/report.md.new" "$out/report.md"
sed -n '/^## Result/,/^## Claims/p' "$out/report.md" | sed '/^## Claims/d'
sed -n '/^claim /p' "$out/verify.txt"
echo
echo "report: $out/report.md   figures: $out/figures   seconds: $(($(date +%s) - started))"
