#!/bin/sh
# hkt-analyze --model --token-ids: the forward pass of small models with all their weights (foreign_forward.py) against numpy's, and what is
# wrong gets one line. Needs python3-numpy, else it is left out.
set -u
. "$HKT_SOURCE/tests/tap.sh"
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
[ "$python" != none ] || { echo "1..0 # numpy is not installed"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
"$python" "$HKT_SOURCE/tests/foreign_forward.py" make || exit 1
for model in gpt2 llama narrow llama2c.bin; do
    for what in kurtosis information; do
        hkt-analyze $what --model $model --token-ids tokens.npy --out ${model%.bin}.$what.tsv || exit 1
    done
done
"$python" "$HKT_SOURCE/tests/foreign_forward.py" check >numpy.log
numpy=$?
grep -v '^1\.\.' numpy.log
# shellcheck disable=SC2034 # tap.sh counts on from here
number=$(grep -c '^ok \|^not ok ' numpy.log)
result $numpy "numpy agrees"
hkt-analyze kurtosis --model llama --token-ids tokens.npy --threads 1 --out one.tsv
check "the number of threads does not matter" sh -c 'grep -v "^#" one.tsv >a; grep -v "^#" llama.kurtosis.tsv | cmp - a'
hkt-analyze kurtosis --model gpt2 --token-ids tokens.npy --sequences 4 --out one.tsv
hkt-analyze kurtosis --model gpt2 --token-ids short.npy --out two.tsv
check "the first sequences" sh -c 'grep -v "^#" one.tsv >a; grep -v "^#" two.tsv | cmp - a'
check "one sequence" sh -c 'hkt-analyze kurtosis --model gpt2 --token-ids one.npy --head 0 | grep -v "^#" | cut -f 5 | grep -qx 210'
check "a histogram" hkt-analyze kurtosis --model gpt2 --token-ids short.npy --out one.tsv --histogram h.tsv

refused() { # refused TEXT STATUS MESSAGE OPTION...: one line, no table
    text=$1 status=$2 message=$3
    shift 3
    fails "$text" "$status" "$message" hkt-analyze "$@" --out wrong.tsv
    result "$([ "$(wc -l <fails.err)" -eq 1 ] && [ ! -e wrong.tsv ]; echo $?)" "$text: one line, no table"
}
refused "more tokens than positions" 3 "long.npy: expected sequences of at most 22 tokens, found 40" kurtosis --model gpt2 --token-ids long.npy
refused "a token that is none" 3 "unknown.npy: expected tokens below 30, found 30 of sequence 0, place 2" kurtosis --model llama --token-ids unknown.npy
refused "tokens that are no integers" 3 "real.npy: 'tokens': expected integers (I64, I32, U8), found F64" kurtosis --model llama --token-ids real.npy
"$python" - <<'P'
import json, os, shutil, sys
sys.path.insert(0, os.environ["HKT_SOURCE"] + "/tests")
import numpy as np
from foreign_models import write_safetensors
def copy(name, edit, config=lambda c: c):
    shutil.copytree("llama", name)
    raw = open("llama/model.safetensors", "rb").read()
    n = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + n]); header.pop("__metadata__")
    t = {k: (e["dtype"], e["shape"], raw[8 + n + e["data_offsets"][0]:8 + n + e["data_offsets"][1]]) for k, e in header.items()}
    edit(t)
    write_safetensors(name + "/model.safetensors", t)
    c = json.load(open("llama/config.json")); config(c)
    json.dump(c, open(name + "/config.json", "w"))
copy("no_down", lambda t: t.pop("model.layers.2.mlp.down_proj.weight"))
def flip(t):
    dtype, shape, data = t["model.layers.1.self_attn.o_proj.weight"]
    t["model.layers.1.self_attn.o_proj.weight"] = (dtype, shape[::-1], data)
copy("flat", flip)
def spoil(t):
    dtype, shape, data = t["model.layers.0.mlp.up_proj.weight"]
    t["model.layers.0.mlp.up_proj.weight"] = (dtype, shape, data[:-4] + np.float32(np.nan).tobytes())
copy("nan", spoil)
copy("gelu", lambda t: None, lambda c: c.update(hidden_act="gelu"))
copy("window", lambda t: None, lambda c: c.update(sliding_window=4))
shutil.copytree("llama", "neox")
P
refused "a missing weight" 3 "expected a tensor 'layers.{layer}.mlp.down_proj.weight' for layer 2, found none" kurtosis --model no_down --token-ids tokens.npy
refused "a matrix the other way round" 3 "tensor 'model.layers.1.self_attn.o_proj.weight': expected 16 x 24 numbers, found 2 dimensions, the first 24" kurtosis --model flat --token-ids tokens.npy
refused "a weight that is not finite" 3 "tensor 'model.layers.0.mlp.up_proj.weight': expected finite weights, found nan" kurtosis --model nan --token-ids tokens.npy
refused "another activation" 3 "forward pass: expected a model without 'gelu'" kurtosis --model gelu --token-ids tokens.npy
refused "attention that is not looked at in full" 3 "expected a model without 'sliding_window narrows the mask'" kurtosis --model window --token-ids tokens.npy
echo '{"query": "layers.{layer}.self_attn.q_proj.weight", "key": "layers.{layer}.self_attn.k_proj.weight", "heads": 4, "key_heads": 2}' >map.json
refused "a family without a forward pass" 3 "forward pass: expected family gpt2, llama or llama2.c, found 'map': store queries and keys" \
    kurtosis --model llama --map map.json --token-ids tokens.npy
refused "a measurement of weights" 2 "'inertia' is not for '--model'" inertia --model llama --token-ids tokens.npy
refused "tokens of no model" 2 "option '--token-ids' needs '--model'" kurtosis --checkpoint x --token-ids tokens.npy
finish
