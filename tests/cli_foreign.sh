#!/bin/sh
# hkt-analyze --model: small models of every family, made by numpy alone (foreign_models.py), whose tables must be those of dense linear
# algebra; and what is wrong with a model gets one line. Needs python3-numpy, else it is left out.
set -u
. "$HKT_SOURCE/tests/tap.sh"
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import numpy' 2>/dev/null && break
done
[ "$python" != none ] || { echo "1..0 # numpy is not installed"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
models=$HKT_SOURCE/tests/foreign_models.py
"$python" "$models" make || exit 1

for model in gpt2 neox neox-nested opt llama mistral qwen2 qwen3 gemma bert roberta electra distilbert vit deit t5 whisper map llama2c-plain.bin llama2c-tables.bin; do
    set -- --model $model
    [ $model != map ] || set -- "$@" --map map.json
    for what in inertia spectrum asymmetry kurtosis; do
        hkt-analyze $what "$@" --out ${model%.bin}.$what.tsv || exit 1
    done
    case $model in
    neox* | llama* | mistral | qwen* | gemma) hkt-analyze lags "$@" --tokens 16 --out ${model%.bin}.lags.tsv || exit 1 ;;
    esac
done
"$python" "$models" check >numpy.log
numpy=$?
grep -v '^1\.\.' numpy.log
# shellcheck disable=SC2034 # tap.sh counts on from here
number=$(grep -c '^ok \|^not ok ' numpy.log)
result $numpy "numpy agrees"

value() { # value FILE QUANTITY: the text of a description
    awk -F '\t' -v q="$2" '$1 == q { print $3; exit }' "$1"
}
hkt-analyze describe --model bert --out d.tsv
check "described: family" test "$(value d.tsv family)" = bert
check "described: rule" sh -c 'grep -q "recognised by	NA	model_type .bert. of bert/config.json" d.tsv'
check "described: prefix" test "$(value d.tsv 'prefix of the names')" = bert.
check "described: gamma is used, a mask is not" sh -c 'grep -q "^tensors used	1	bert.embeddings.LayerNorm.gamma	" d.tsv && grep -q "^tensors not used	1	mask.bool	" d.tsv'
hkt-analyze describe --model t5 --out t5.tsv
check "described: what is not looked at" grep -q "^not looked at	NA	relative positions" t5.tsv
check "described: tensors not used" grep -q "^tensors not used	1	encoder.block.{n}.layer.{n}.SelfAttention.relative_attention_bias.weight	" t5.tsv
hkt-analyze families --out families.tsv
check "families are listed" test "$(wc -l <families.tsv)" -eq 14
hkt-analyze inertia --model llama --threads 1 --out one.tsv
check "the number of threads does not matter" cmp one.tsv llama.inertia.tsv
check "filters" sh -c 'hkt-analyze inertia --model llama --layer 1 --head 2 | cut -f 2,3 | sort -u | tr "\n" " " | grep -qx "1	2 layer	head "'
hkt-analyze asymmetry --model llama --layer 1 --out three.tsv
check "the layer before is read for its cosine alone" sh -c 'rows() { awk -F "\t" "\$3 == 1" $1; }; rows three.tsv >a; rows llama.asymmetry.tsv | cmp - a'
cp -r llama text && "$python" -c '
import json
c = json.load(open("text/config.json"))
json.dump({"model_type": "several", "text_config": c}, open("text/config.json", "w"))'
check "the part of text of a larger model" hkt-analyze inertia --model text --out text.tsv
check "one of the files instead of the directory" hkt-analyze inertia --model llama/model.safetensors.index.json --out text.tsv
echo '{"like": "llama", "rotary_base": 100}' >base.json
hkt-analyze lags --model llama --map base.json --tokens 16 --out base.tsv
check "a map that is like a family" cmp llama.lags.tsv base.tsv
hkt-analyze lags --model llama --map - --tokens 16 --out base.tsv <base.json
check "a map on standard input" cmp llama.lags.tsv base.tsv
mkdir -p maps && echo '{"like": "../base.json"}' >maps/far.json
check "a map that is like another one" hkt-analyze lags --model llama --map maps/far.json --out far.tsv

# --- claims ---
verdict() { # verdict CHECK VERDICT CLAIM OPTION...: the verdict of one check
    check=$1 expected=$2
    shift 2
    hkt-verify "$@" --tsv verdicts.tsv >verify.txt 2>&1
    check "claims: $* $check $expected" awk -F '\t' -v c="$check" -v v="$expected" '
        !head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; next }
        $at["check"] == c { found = $at["verdict"] == v } END { exit !found }' verdicts.tsv
}
for model in gpt2 bert map llama2c-plain.bin; do
    set -- --model $model
    [ $model != map ] || set -- "$@" --map map.json
    verdict head-forms HOLDS psd "$@"
    verdict head-pythagoras HOLDS asymmetry "$@"
    verdict head-parts HOLDS asymmetry "$@"
    verdict head-ceiling HOLDS kurtosis "$@"
done
verdict head-inertia HOLDS psd --model bert
mkdir tied && "$python" - <<'P'
import os, sys
sys.path.insert(0, os.environ["HKT_SOURCE"] + "/tests")
import json
import numpy as np
from foreign_models import encode, write_safetensors
t, rng = {}, np.random.default_rng(5)
for i in range(2):
    q = rng.normal(size=(12, 12))
    k = q if i == 1 else rng.normal(size=(12, 12))
    for name, x in (("q", q), ("k", k)):
        t[f"layers.{i}.self_attn.{name}_proj.weight"] = ("F32", (12, 12), encode(x, "F32")[0])
write_safetensors("tied/model.safetensors", t)
json.dump({"query": "layers.{layer}.self_attn.q_proj.weight", "key": "layers.{layer}.self_attn.k_proj.weight", "heads": 4}, open("tied.json", "w"))
P
verdict head-inertia VIOLATED psd --model tied --map tied.json
hkt-verify all --model tied --map tied.json --json tied-verdicts.json >/dev/null
check "claims: the numbers of a model whose last layer is tied are those of numpy" "$python" - <<'P'
import json
import numpy as np
raw = open("tied/model.safetensors", "rb").read()
n = int.from_bytes(raw[:8], "little")
w = {k: np.frombuffer(raw[8 + n :], "<f4", 144, e["data_offsets"][0]).reshape(12, 12).astype(float)
     for k, e in json.loads(raw[8 : 8 + n]).items() if k != "__metadata__"}
side = lambda i, s, h: w[f"layers.{i}.self_attn.{s}_proj.weight"][3 * h : 3 * h + 3]
places = [(i, h) for i in range(2) for h in range(4)]
check = {c["name"]: c["results"][0] for claim in json.load(open("tied-verdicts.json"))["claims"] for c in claim["checks"]}
rows = lambda name: [dict(zip(check[name]["table"]["columns"], r)) for r in check[name]["table"]["rows"]]
near = lambda a, b: abs(a - b) <= 1e-12
full = both = negative = 0
for (i, h), a, b, c, d in zip(places, rows("head-inertia"), rows("head-forms"), rows("head-parts"), rows("head-ceiling"), strict=True):
    q, k = side(i, "q", h), side(i, "k", h)
    m = q.T @ k / np.sqrt(3)
    e = np.linalg.eigvalsh((m + m.T) / 2)
    s = np.linalg.svd(m, compute_uv=False)
    rank, share = np.linalg.matrix_rank(np.concatenate([q, k])), ((m - m.T) ** 2).sum() / 4 / (m**2).sum()
    assert all((r["layer"], r["index"]) == (i, h) for r in (a, b, c, d)), (a, b, c, d)
    assert a["rank"] == rank and b["positive"] == (e > 1e-10).sum() and b["negative"] == (e < -1e-10).sum()
    assert near(b["negative_mass"], -e[e < -1e-10].sum() / abs(e).sum()) and near(c["antisymmetric_share"], share)
    assert near(d["kappa"], 1 + 2 * (s**4).sum() / (s**2).sum() ** 2)
    full, both, negative = full + (rank == 6), both + (share > 1e-20), negative + (e[0] < -1e-10)
assert [check[c]["measured"] for c in ("head-inertia", "head-parts", "head-forms")] == [full, both, negative] == [4, 4, 4]
assert all(check[c]["bound"] == 8 for c in ("head-inertia", "head-parts", "head-forms"))
P
check "claims: all is the claims that there are" sh -c 'hkt-verify all --model bert | grep -c "^claim" | grep -qx "[4-9]"'
verdict head-forms VIOLATED psd --model tied --map tied.json
verdict head-parts VIOLATED asymmetry --model tied --map tied.json
check "the command of README for a newcomer" sh -c 'command -v gnuplot >/dev/null || exit 0
    hkt-analyze inertia --model gpt2/ --out heads.tsv && HKT_PLOTS=$HKT_SOURCE/plots hkt-plot heads --from . --out . && test -s heads.png'
check "claims: explained" sh -c 'hkt-verify explain psd | grep -q "head-inertia (exact)"'
fails "claims: not for other models" 2 "'cost' is not for '--model'" hkt-verify cost --model bert
fails "claims: both kinds of models" 2 "option '--checkpoint' has no effect with '--model'" hkt-verify psd --model bert --checkpoint x
fails "claims: a map alone" 2 "option '--map' needs '--model'" hkt-verify psd --map m.json
fails "claims: no such model" 3 "nowhere" hkt-verify psd --model nowhere

# --- what is wrong ---
refused() { # refused TEXT MESSAGE OPTION...: status 3, one line
    text=$1 message=$2
    shift 2
    fails "$text" 3 "$message" hkt-analyze inertia "$@" --out wrong.tsv
    result "$([ "$(wc -l <fails.err)" -eq 1 ] && [ ! -e wrong.tsv ]; echo $?)" "$text: one line, no table"
}
edit() { # edit NAME PYTHON: a copy of the model NAME as `wrong`, and an edit of its configuration c
    rm -rf wrong && cp -r "$1" wrong
    "$python" -c "
import json
p = 'wrong/$3'
c = json.load(open(p))
$2
json.dump(c, open(p, 'w'))"
}
edit llama 'c["num_attention_heads"] = 3' config.json
refused "a head count that does not fit" "expected a number of key heads that divides 3 heads, found 2" --model wrong
edit mistral 'c["num_attention_heads"] = 8' config.json
refused "a head count that fits no shape" "q_proj.weight': expected 64 rows for 8 heads (1 key heads) of width 8, found 32; for another" --model wrong
edit llama 'c["num_key_value_heads"] = 4' config.json
refused "a key head count that fits no shape" "k_proj.weight': expected shape [24, 24], found [12, 24]" --model wrong
edit llama 'c["num_hidden_layers"] = 1' config.json
refused "a layer too many" "expected the query weights of 1 layers, found those of 2" --model wrong
edit llama 'c["hidden_size"] = 20' config.json
refused "another width" "expected the width 20 of config.json, found 24" --model wrong
edit llama 'c["model_type"] = "unheard"' config.json
refused "an unknown family" "model_type: expected one of 'hkt-analyze families', found 'unheard'; for another kind of model: --map FILE, for instance {" --model wrong
edit llama 'c["model_type"] = "gpt2"' config.json
refused "another family" "family 'gpt2': expected a tensor 'h.0.attn.c_attn.weight', found none" --model wrong
edit llama 'c["rope_theta"] = -1' config.json
refused "a base that is none" "rope_theta: expected a positive number, found -1" --model wrong
edit neox 'c["rotary_pct"] = 0.4' config.json
refused "an odd number of turned elements" "expected an even number of turned elements up to 8, found 3" --model wrong
rm -rf wrong && cp -r llama wrong && rm wrong/model-00002-of-00002.safetensors
refused "a missing shard" "expected the file 'wrong/model-00002-of-00002.safetensors', which it names, found none" --model wrong
rm -rf wrong && cp -r llama wrong && head -c 900 llama/model-00002-of-00002.safetensors >wrong/model-00002-of-00002.safetensors
refused "a shard that is cut" "wrong/model-00002-of-00002.safetensors: " --model wrong
edit llama 'c["weight_map"]["ghost"] = "model-00001-of-00002.safetensors"' model.safetensors.index.json
refused "an index with a tensor that is not there" "tensor 'ghost': expected in the file 'wrong/model-00001-of-00002.safetensors', found none" --model wrong
edit llama 'c["weight_map"] = {k: "../llama/" + v for k, v in c["weight_map"].items()}' model.safetensors.index.json
refused "an index that leaves its directory" "expected the name of a file beside it, found '../llama/model-" --model wrong
edit llama 'c["weight_map"] = []' model.safetensors.index.json
refused "an index without a map" "expected an object 'weight_map' with the tensors' files, found an array" --model wrong
rm -rf wrong && cp -r llama wrong && cp llama/model-00001-of-00002.safetensors wrong/again.safetensors
"$python" -c '
import json
p = "wrong/model.safetensors.index.json"
c = json.load(open(p))
name = next(k for k, v in c["weight_map"].items() if v.startswith("model-00001"))
c["weight_map"][name] = "again.safetensors"
json.dump(c, open(p, "w"))'
refused "a tensor in two files" "expected it in one file, found it in 'wrong/" --model wrong
rm -rf wrong && cp -r vit wrong && printf '{"a": 1, "a": 2}' >wrong/config.json
refused "a word twice" "duplicate object key" --model wrong
mkdir -p nothing
refused "an empty directory" "nothing: expected model.safetensors or model.safetensors.index.json, found neither" --model nothing
refused "no such file" "nowhere" --model nowhere
rm -rf wrong && cp -r vit wrong && rm wrong/config.json
refused "no configuration" "expected a word 'model_type' in wrong/config.json, found none; for another kind" --model wrong
"$python" - <<'P'
import os, sys
sys.argv = ["", "none"]
sys.path.insert(0, os.environ["HKT_SOURCE"] + "/tests")
import numpy as np
from foreign_models import FAMILIES, write_safetensors, encode
import json
os.makedirs("holes"), os.makedirs("nan"), os.makedirs("two"), os.makedirs("flat"), os.makedirs("whole")
def llama(dir, q=None, gain=(12,), dtype="F32", more=()):
    x = np.ones((12, 12)) if q is None else q
    t = {}
    for i in range(2):
        t[f"layers.{i}.self_attn.q_proj.weight"] = (dtype, x.shape, encode(x, "F32")[0])
        t[f"layers.{i}.self_attn.k_proj.weight"] = ("F32", (12, 12), encode(np.ones((12, 12)), "F32")[0])
        t[f"layers.{i}.input_layernorm.weight"] = ("F32", gain, encode(np.ones(gain), "F32")[0])
    for name in more:
        t[name] = ("F32", (12, 12), encode(np.ones((12, 12)), "F32")[0])
    json.dump({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 12}, open(dir + "/config.json", "w"))
    return t
nan = np.ones((12, 12)); nan[11, 11] = np.nan
write_safetensors("nan/model.safetensors", llama("nan", nan))
t = llama("holes"); del t["layers.1.self_attn.k_proj.weight"]
write_safetensors("holes/model.safetensors", t)
write_safetensors("two/model.safetensors", llama("two", more=["decoder.layers.0.self_attn.q_proj.weight"]))
write_safetensors("flat/model.safetensors", llama("flat", gain=(3, 4)))
write_safetensors("whole/model.safetensors", llama("whole", dtype="I32"))
P
refused "a weight that is not a number" "nan/model.safetensors: tensor 'layers.0.self_attn.q_proj.weight': expected finite weights, found nan" --model nan
refused "a layer without keys" "expected a tensor 'layers.1.self_attn.k_proj.weight' for layer 1, found none" --model holes
refused "two sets of queries" "expected one tensor whose name ends in 'layers.0.self_attn.q_proj.weight', found 'decoder.layers.0" --model two
refused "a gain of two dimensions" "expected shape [12], found [3, 4]" --model flat
refused "whole numbers" "expected floats (F64, F32, F16, BF16), found I32" --model whole
mkdir models && cp llama2c-plain.bin models/stories260K.bin
check "the script of the results: tables of a folder of models" env HKT_PLOTS="$HKT_SOURCE/plots" sh "$HKT_SOURCE/experiments/foreign.sh" models results
check "its summary: every quantity up to the largest lag, least, median and largest in order" sh -c '
    awk -F "\t" "NR > 1 { ok += \$6 <= \$7 && \$7 <= \$8 && \$9 == \"ok\"; n++; lag[\$2] += \$3 == \"weights\" && \$4 == 1024 }
        END { exit !(n > 30 && ok == n && lag[\"negative_mass\"] == 1 && lag[\"antisymmetric\"] == 1 && lag[\"kappa\"] == 1) }" results/foreign.tsv'
check "the largest kappa is that of the table" sh -c '[ "$(awk -F "\t" "NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next }
    \$at[\"form\"] == \"weights\" && \$at[\"kappa\"] > m { m = \$at[\"kappa\"] } END { printf \"%.4g\", m }" results/stories-kurtosis.tsv)" = \
    "$(awk -F "\t" "\$2 == \"kappa\" && \$3 == \"weights\" && \$4 == 0 { print \$8 }" results/foreign.tsv)" ]'
check "its figures" sh -c 'command -v gnuplot >/dev/null || exit 0; test -s results/stories/heads.png && test -s results/stories/lags.png'
fails "the script of the results: no model" 3 "expected stories260K.bin or ch_PP-OCRv4_rec_infer.onnx in 'results', found neither" \
    sh "$HKT_SOURCE/experiments/foreign.sh" results empty
head -c 4000 llama2c-plain.bin >cut.bin
refused "a llama2.c file that is cut" "cut.bin: expected 1" --model cut.bin
head -c 20 llama2c-plain.bin >short.bin
refused "a llama2.c file without a whole header" "short.bin: expected at least 28 bytes, found 20" --model short.bin
printf '24ka\001\000\000\000%1000s' '' >one.bin
refused "a llama2.c file of version 1" "expected a llama2.c file of version 0, found version 1" --model one.bin
"$python" -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<7i", 65536, 2147483647, 4096, 1, 1, 2147483647, 2147483647) + bytes(100))' >huge.bin
refused "a llama2.c file of impossible sizes" "huge.bin: " --model huge.bin
echo '{"like": "b.json"}' >a.json
echo '{"like": "./a.json"}' >b.json
refused "maps in a circle" "b.json: key 'like': expected maps that end at a family, found a circle: 'a.json' again" --model llama --map a.json
echo '{"like": "llama", "head": 3}' >m.json
refused "an unknown word of a map" "key 'head': expected a word of a map (docs/foreign.md), perhaps 'heads'" --model llama --map m.json
echo '{"like": "lama"}' >m.json
refused "an unknown family of a map" "key 'like': expected a family (hkt-analyze families) or another map, found 'lama'" --model llama --map m.json
echo '{"query": ["one.w"], "layout": "blocks", "transposed": true, "heads": 4, "layers": 2}' >m.json
refused "a list that is too short" "expected the query weights of 2 layers, found those of 1" --model map --map m.json
echo '{"query": "{layer}.w", "layout": "blocks", "heads": 4}' >m.json
refused "a pattern that nothing fits" "family 'map': expected a tensor '0.w', found none" --model map --map m.json
echo '{"query": ["one.w", "two.w"], "layout": "blocks", "transposed": true}' >m.json
refused "a map without heads" "expected the number of heads in config.json or a map, found none" --model map --map m.json
echo '{"query": ["one.w", "two.w"], "layout": "blocks", "transposed": true, "heads": 5}' >m.json
refused "a map with heads that fit no shape" "expected 30 rows for 5 heads (5 key heads) of width 2, found 36" --model map --map m.json
echo '{"query": ["one.w", "two.w"], "layout": "rows", "heads": 4}' >m.json
refused "an unknown layout" "key 'layout': expected apart, blocks or heads, found 'rows'" --model map --map m.json
echo '{"query": ["one.w", "two.w"], "heads": 4}' >m.json
refused "neither keys nor a layout" "expected a word 'key', or 'layout' blocks or heads, found neither" --model map --map m.json
fails "lags without rotary positions" 3 "expected a model with rotary positions, found family 'bert' without" hkt-analyze lags --model bert --out wrong.tsv

# --- options ---
fails "a measurement that is for our models" 2 "'gates' is not for '--model'" hkt-analyze gates --model llama
fails "one that is for other models" 2 "'lags': expected option '--model'" hkt-analyze lags --checkpoint x
fails "both kinds of models" 2 "option '--checkpoint' has no effect with '--model'" hkt-analyze inertia --model llama --checkpoint x
fails "a map alone" 2 "option '--map' needs '--model'" hkt-analyze inertia --checkpoint x --map m.json
fails "a level" 2 "option '--level' has no effect with '--model'" hkt-analyze inertia --model llama --level 0
fails "lags of what has none" 2 "option '--tokens' has no effect on 'inertia'" hkt-analyze inertia --model llama --tokens 4
fails "families of a model" 2 "option '--model' has no effect on 'families'" hkt-analyze families --model llama
fails "a row that is not there" 3 "expected a row with layer 9, head any, found none" hkt-analyze inertia --model llama --layer 9 --out wrong.tsv
fails "the JSON onto the map" 2 "option '--json': expected another file than that of '--map'" hkt-analyze inertia --model llama --map base.json --json base.json
fails "the JSON onto the model" 2 "option '--json'" hkt-analyze inertia --model llama --json llama/config.json
finish
