#!/bin/sh
# Every table of hkt-analyze against numpy: numpy_model.py is the model written again, numpy_check.py what the tables say. Three
# models: HKT, standard attention, and score fusion without a causal mask. Needs python3-numpy, else it is left out.
set -u
. "$HKT_SOURCE/tests/tap.sh"
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
[ "$python" != none ] || { echo "1..0 # numpy is not installed"; exit 0; }

hkt-data listops --out d --train 300 --val 12 --test 5 --min-length 5 --max-length 44 --max-depth 4 --max-args 5 --seed 7 2>/dev/null || exit 1
train() { # train NAME OPTION...: a model of 2 layers after a few large steps
    name=$1
    shift
    hkt-train --data d --d-model 8 --heads 2 --layers 2 --batch-tokens 400 --steps 30 --warmup 5 --lr 0.02 --max-len 44 \
        --keep-checkpoints 1 --out "$name" "$@" >/dev/null 2>&1 || exit 1
}
train hkt --levels 3
train mha --model mha
train score --levels 2 --stride 3 --fusion score --no-causal
for name in hkt mha score; do
    best=$name/best.safetensors
    for what in describe kurtosis spectrum inertia asymmetry gates bands information errors decay scores ablate cost compare; do
        set -- --checkpoint $best --data d --out $name.$what.tsv
        case $what in
        errors) set -- "$@" --target mha/best.safetensors --tokens 24 ;;
        decay | scores) set -- "$@" --tokens 24 ;;
        describe) set -- "$@" --tokens 37 ;;
        cost) set -- --checkpoint $best --tokens 300 --out $name.$what.tsv ;;
        compare) set -- $name/kept/step-00000000.safetensors $best --data d --out $name.$what.tsv ;;
        esac
        hkt-analyze $what "$@" || exit 1
    done
done
PYTHONDONTWRITEBYTECODE=1 "$python" "$HKT_SOURCE/tests/numpy_check.py" hkt mha score
