#!/bin/sh
# shellcheck disable=SC2154 # tab: from common.sh
# Before a start: what the given runs, which are missing, will take. Per setting and model: runs, updates, tokens and processor
# hours of one run, memory; then the sum. Time and memory are those of finished runs of that setting and model, where there are
# any, else from two short trainings here, of 2 and of 12 updates.    usage: BIN=DIR WORK=DIR INI=DIR sh plan.sh RUN...
set -eu
cd "$(dirname "$0")"
. ./common.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP

option() { sed -n "s/^$2 *= *//p" "$INI/$1.ini"; } # option SETTING NAME
# recorded SETTING MODEL: mean of cpu_seconds, largest peak_bytes, of its finished runs; nothing when there is none
recorded() {
    {
        named "task${tab}setting${tab}model${tab}config${tab}cpu_seconds${tab}peak_bytes" "$WORK/results/runs.tsv"
        for row in "$WORK/runs/$1/$2"/*/row.tsv; do
            named "task${tab}setting${tab}model${tab}config${tab}cpu_seconds${tab}peak_bytes" "$row"
        done
    } | awk -F '\t' -v key="$1/$2" -v config="$(config_of "$1")" '
        $1 ($2 == "main" ? "" : "-" $2) "/" $3 == key && $4 == config && $5 != "NA" { n++; s += $5; if ($6 > most) most = $6 }
        END { if (n) print s / n, most }'
}
# short SETTING MODEL UPDATES: a training of as many; its cpu_seconds and peak_bytes
short() {
    rm -rf "$scratch/run"
    "$BIN/hkt-train" --config "$INI/$1.ini" --model "$2" --data "$data" --out "$scratch/run" --threads 1 --steps "$3" --warmup 1 \
        2>"$scratch/err" >"$scratch/out" || { cat "$scratch/err" >&2; exit 3; }
    sed -n "s/^cpu_seconds$tab//p; s/^peak_bytes$tab//p" "$scratch/out" | xargs
}
# of_epoch: epochs that the updates of the last short training are
of_epoch() { sed -n '/^[0-9]/p' "$scratch/run/log.tsv" | tail -n 1 | cut -f 2; }

printf 'setting\tmodel\truns\tupdates\ttokens\tcore_hours\tmegabytes\tfrom\n'
for run; do echo "${run%/*}"; done | sort | uniq -c | while read -r runs key; do
    setting=${key%/*} model=${key#*/}
    data=$WORK/data/$(data_of "$setting")
    echo "plan: $key" >&2
    first=$(short "$setting" "$model" 2)
    second=$(short "$setting" "$model" 12)
    "$BIN/hkt-data" inspect "$data" --task "${setting%%-*}" >"$scratch/data.txt"
    epoch=$(awk '$1 == "train" { print $2 * $5; exit }' "$scratch/data.txt") # rows times mean length
    echo "$first $second $(of_epoch) $epoch $(recorded "$setting" "$model")" | awk -v OFS='\t' -v setting="$setting" -v model="$model" \
        -v runs="$runs" -v steps="$(option "$setting" steps)" -v epochs="$(option "$setting" epochs)" -v every="$(option "$setting" eval-every)" '{
            update = ($3 - $1) / 10; if (update < 0) update = 0
            rest = $1 - 2 * update # reading, and one validation
            updates = steps > 0 ? steps : int(epochs * 12 / $5 + 0.5)
            tokens = updates * $5 / 12 * $6
            validations = every > 0 ? int((updates + every - 1) / every) : int(updates * $5 / 12 + 1)
            seconds = updates * update + validations * (rest > 0 ? rest : 0)
            print setting, model, runs, updates, sprintf("%.0f", tokens), sprintf("%.3g", (NF > 6 ? $7 : seconds) / 3600),
                sprintf("%.0f", (NF > 6 ? $8 : $4) / 1e6), (NF > 6 ? "recorded" : "timed") }'
done >"$scratch/plan.tsv"
cat "$scratch/plan.tsv"
awk -F '\t' -v OFS='\t' '{ runs += $3; tokens += $3 * $5; hours += $3 * $6; if ($7 > most) most = $7 }
    END { print "all", "NA", runs + 0, "NA", sprintf("%.0f", tokens), sprintf("%.3g", hours), most + 0, "NA" }' "$scratch/plan.tsv"
