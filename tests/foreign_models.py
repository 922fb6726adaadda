"""Small models of every family that hkt-analyze --model takes, written by numpy alone, and what its tables must say of them by dense
linear algebra. usage: foreign_models.py make | check    (in a directory of its own; TAP lines on standard output)
Tolerance: 1e-12 of the largest eigenvalue, norm or 1: both sides compute in float64 from the same rounded weights."""
import json
import os
import struct
import sys

import numpy as np

TOL = 1e-12
LAGS = [0, 1, 2, 4, 8, 16]

# --- files --------------------------------------------------------------------------------------------------------------


def to_bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def encode(x, dtype):
    """The bytes, and the values they stand for."""
    if dtype == "BF16":
        bits = to_bf16(x)
        return bits.tobytes(), (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "F16":
        return x.astype(np.float16).tobytes(), x.astype(np.float16).astype(np.float64)
    if dtype == "F64":
        return x.tobytes(), x
    return x.astype(np.float32).tobytes(), x.astype(np.float32).astype(np.float64)


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, shape, bytes)."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


# --- models -------------------------------------------------------------------------------------------------------------


class Family:
    """What numpy knows of a model: config.json, where weights go, and what the attention adds."""

    def __init__(self, name, config, dtype="F32", layers=2, d=12, heads=4, key_heads=None, p=None, bias=False, norm=None, gain_offset=0.0,
                 rotary=0, pairs=False, base=10000.0, scale=None, head_norm=False, shards=1, prefix="", put=None, extra=(), shift=None):
        self.name, self.config, self.dtype, self.layers, self.d, self.heads = name, config, dtype, layers, d, heads
        self.key_heads, self.p = key_heads or heads, p or d // heads
        self.bias, self.norm, self.gain_offset, self.rotary, self.pairs, self.base = bias, norm, gain_offset, rotary, pairs, base
        self.scale = 1 / np.sqrt(self.p) if scale is None else scale
        self.head_norm, self.shards, self.prefix, self.put, self.extra = head_norm, shards, prefix, put, extra
        self.shift = norm == "centred" if shift is None else shift

    def draw(self):
        rng = np.random.default_rng(sum(map(ord, self.name)))
        self.weights = []
        for _ in range(self.layers):
            w = {"q": rng.normal(size=(self.heads * self.p, self.d)), "k": rng.normal(size=(self.key_heads * self.p, self.d)),
                 "v": rng.normal(size=(self.key_heads * self.p, self.d)), "gain": rng.normal(size=self.d) + 1 - self.gain_offset,
                 "shift": rng.normal(size=self.d), "bq": rng.normal(size=self.heads * self.p), "bk": rng.normal(size=self.key_heads * self.p),
                 "bv": rng.normal(size=self.key_heads * self.p), "gq": rng.normal(size=self.p), "gk": rng.normal(size=self.p)}
            self.weights.append({key: encode(x, self.dtype)[1].reshape(x.shape) for key, x in w.items()})

    def write(self):
        self.draw()
        os.makedirs(self.name)
        tensors = {}
        rng = np.random.default_rng(1)

        def add(name, x, dtype=None):
            tensors[self.prefix + name] = (dtype or self.dtype, x.shape, encode(x, dtype or self.dtype)[0])

        for i, w in enumerate(self.weights):
            self.put(self, add, i, w)
        for name in self.extra:
            add(name, rng.normal(size=(3, 5)))
        tensors["mask.bool"] = ("BOOL", (4,), b"\1\0\1\0")
        if self.config is not None:
            with open(f"{self.name}/config.json", "w") as f:
                json.dump(self.config, f)
        if self.shards == 1:
            write_safetensors(f"{self.name}/model.safetensors", tensors)
            return
        index, names = {}, list(tensors)
        for s in range(self.shards):
            file = f"model-{s + 1:05d}-of-{self.shards:05d}.safetensors"
            part = {n: tensors[n] for n in names[s :: self.shards]}
            write_safetensors(f"{self.name}/{file}", part)
            index.update({n: file for n in part})
        with open(f"{self.name}/model.safetensors.index.json", "w") as f:
            json.dump({"metadata": {"total_size": 0}, "weight_map": index}, f)

    # what the tables must say

    def turn(self, w, position):
        """R(position) on the rows [p, n] of a head, as Hugging Face's apply_rotary_pos_emb and llama2.c's run.c write it."""
        r = self.rotary
        if r == 0:
            return w
        head, rest = w[:r], w[r:]
        angle = position * self.base ** (-np.arange(0, r, 2) / r)
        if self.pairs:
            cos, sin = np.repeat(np.cos(angle), 2)[:, None], np.repeat(np.sin(angle), 2)[:, None]
            other = np.empty_like(head)
            other[0::2], other[1::2] = -head[1::2], head[0::2]
        else:
            cos, sin = np.tile(np.cos(angle), 2)[:, None], np.tile(np.sin(angle), 2)[:, None]
            other = np.concatenate([-head[r // 2 :], head[: r // 2]])
        return np.concatenate([head * cos + other * sin, rest])

    def forms(self, layer, kind, index):
        """[p, n] queries and keys of a form, and the dimension of the space."""
        w = self.weights[layer]
        share, p = self.heads // self.key_heads, self.p
        rows = lambda x, h: x[h * p : (h + 1) * p]
        if kind == "group":
            return sum(rows(w["q"], h) for h in range(index * share, (index + 1) * share)), rows(w["k"], index), self.d
        q, k = rows(w["q"], index), rows(w["k"], index // share)
        if kind == "weights":
            return q, k, self.d
        shift, n = (w["shift"] if self.shift else np.zeros(self.d)), self.d
        bq = (rows(w["bq"], index) if self.bias else 0) + q @ shift
        bk = (rows(w["bk"], index // share) if self.bias else 0) + k @ shift
        if self.norm:
            gain = w["gain"] + self.gain_offset
            q, k = q * gain, k * gain
        if self.norm == "centred":  # a basis of the vectors whose elements add up to 0
            basis = np.linalg.svd(np.ones((1, self.d)))[2][1:]
            q, k, n = q @ basis.T, k @ basis.T, self.d - 1
        if self.head_norm:
            q, k, bq, bk = w["gq"][:, None] * q, w["gk"][:, None] * k, w["gq"] * bq, w["gk"] * bk
        if kind == "affine":
            q, k, n = np.column_stack([q, bq]), np.column_stack([k, bk]), n + 1
        return q, k, n

    def dense(self, layer, kind, index, lag=0):
        q, k, n = self.forms(layer, kind, index)
        return self.scale * self.turn(q, lag + 3).T @ self.turn(k, 3), n

    def kinds(self):
        kinds = ["weights"]
        if self.norm or self.head_norm:
            kinds.append("norm")
        if self.bias or (self.norm and self.shift):
            kinds.append("affine")
        return kinds

    def rows(self):
        """The places of the table of all forms, in its order."""
        for layer in range(self.layers):
            for head in range(self.heads):
                for kind in self.kinds():
                    yield layer, kind, head
            if self.key_heads < self.heads:
                for group in range(self.key_heads):
                    yield layer, "group", group


def apart(q, k, gain=None, suffix=".weight", first=None, own=None):
    """Puts q and k under names with {} for the layer; gain's {} may be the layer before."""

    def put(f, add, i, w):
        for name, key in ((q, "q"), (k, "k")):
            add(name.format(i) + ".weight", w[key])
            if f.bias and not (key == "k" and f.name.startswith("whisper")):
                add(name.format(i) + ".bias", w["b" + key])
        if f.name.startswith("whisper"):
            w["bk"] = np.zeros_like(w["bk"])
        place = gain.format(i) if not first else first if i == 0 else gain.format(i - 1)
        old = f.name == "bert"
        add(place + (".gamma" if old else ".weight"), w["gain"])
        if f.shift:
            add(place + (".beta" if old else ".bias"), w["shift"])
        if f.head_norm:
            add(own[0].format(i), w["gq"])
            add(own[1].format(i), w["gk"])

    return put


def put_gpt2(f, add, i, w):
    add(f"h.{i}.attn.c_attn.weight", np.ascontiguousarray(np.concatenate([w["q"], w["k"], w["v"]]).T))
    add(f"h.{i}.attn.c_attn.bias", np.concatenate([w["bq"], w["bk"], w["bv"]]))
    add(f"h.{i}.ln_1.weight", w["gain"])
    add(f"h.{i}.ln_1.bias", w["shift"])


def put_neox(f, add, i, w):
    name, p = f"layers.{i}.attention.query_key_value", f.p
    add(name + ".weight", np.concatenate([w["qkv"[c]][h * p : (h + 1) * p] for h in range(f.heads) for c in range(3)]))
    add(name + ".bias", np.concatenate([w["b" + "qkv"[c]][h * p : (h + 1) * p] for h in range(f.heads) for c in range(3)]))
    add(f"layers.{i}.input_layernorm.weight", w["gain"])
    add(f"layers.{i}.input_layernorm.bias", w["shift"])


LLAMA = apart("layers.{}.self_attn.q_proj", "layers.{}.self_attn.k_proj", "layers.{}.input_layernorm",
              own=("layers.{}.self_attn.q_norm.weight", "layers.{}.self_attn.k_norm.weight"))


def sizes(model_type, layers=2, d=12, heads=4, **more):
    return dict(model_type=model_type, num_hidden_layers=layers, num_attention_heads=heads, hidden_size=d, **more)


def put_map(f, add, i, w):
    add(["one", "two"][i] + ".w", np.ascontiguousarray(np.concatenate([w["q"], w["k"], w["v"]]).T))
    add(["one", "two"][i] + ".b", np.concatenate([w["bq"], w["bk"], w["bv"]]))


FAMILIES = [
    Family("gpt2", {"model_type": "gpt2", "n_layer": 2, "n_head": 4, "n_embd": 12}, bias=True, norm="centred", put=put_gpt2,
           extra=["wte.weight"], prefix="transformer."),
    Family("neox", sizes("gpt_neox", d=32, rotary_pct=0.25, rotary_emb_base=500), "F16", d=32, bias=True, norm="centred", rotary=2, base=500,
           put=put_neox, prefix="gpt_neox."),
    Family("neox-nested", sizes("gpt_neox", d=32, rope_parameters={"rope_theta": 500, "partial_rotary_factor": 0.75}), d=32, bias=True,
           norm="centred", rotary=6, base=500, put=put_neox, prefix="gpt_neox."),
    Family("opt", sizes("opt", do_layer_norm_before=True), "BF16", bias=True, norm="centred", shards=3, prefix="model.", put=apart(
        "decoder.layers.{}.self_attn.q_proj", "decoder.layers.{}.self_attn.k_proj", "decoder.layers.{}.self_attn_layer_norm")),
    Family("llama", sizes("llama", d=24, num_key_value_heads=2, rope_theta=100.0), "BF16", d=24, key_heads=2, norm="rms", rotary=6, base=100,
           shards=2, prefix="model.", put=LLAMA, extra=["embed_tokens.weight"]),
    Family("mistral", sizes("mistral", d=24, num_key_value_heads=1, head_dim=8, sliding_window=None), "F16", d=24, p=8, key_heads=1, norm="rms", rotary=8, put=LLAMA),
    Family("qwen2", sizes("qwen2", d=16, num_key_value_heads=2, rope_theta=1e6), d=16, key_heads=2, bias=True, norm="rms", rotary=4, base=1e6,
           prefix="model.", put=LLAMA),
    Family("qwen3", sizes("qwen3", d=16, num_key_value_heads=2, head_dim=6, rope_parameters={"rope_theta": 77.0}), "F64", d=16, p=6,
           key_heads=2, norm="rms", rotary=6, base=77.0, head_norm=True, prefix="model.", put=LLAMA),
    Family("gemma", sizes("gemma2", d=16, num_key_value_heads=2, head_dim=4, query_pre_attn_scalar=9), "BF16", d=16, key_heads=2, norm="rms",
           gain_offset=1.0, rotary=4, scale=1 / 3, prefix="model.", put=LLAMA),
    Family("bert", sizes("bert"), bias=True, norm="centred", prefix="bert.", put=apart(
        "encoder.layer.{}.attention.self.query", "encoder.layer.{}.attention.self.key", "encoder.layer.{}.output.LayerNorm",
        first="embeddings.LayerNorm")),
    Family("roberta", sizes("roberta"), bias=True, norm="centred", prefix="roberta.", put=apart(
        "encoder.layer.{}.attention.self.query", "encoder.layer.{}.attention.self.key", "encoder.layer.{}.output.LayerNorm",
        first="embeddings.LayerNorm")),
    Family("electra", sizes("electra", d=8, heads=2), d=8, heads=2, bias=True, norm="centred", prefix="electra.", put=apart(
        "encoder.layer.{}.attention.self.query", "encoder.layer.{}.attention.self.key", "encoder.layer.{}.output.LayerNorm",
        first="embeddings.LayerNorm")),
    Family("distilbert", {"model_type": "distilbert", "n_layers": 2, "n_heads": 4, "dim": 12}, bias=True, norm="centred", put=apart(
        "transformer.layer.{}.attention.q_lin", "transformer.layer.{}.attention.k_lin", "transformer.layer.{}.output_layer_norm",
        first="embeddings.LayerNorm")),
    Family("vit", sizes("vit"), bias=True, norm="centred", prefix="vit.", put=apart(
        "encoder.layer.{}.attention.attention.query", "encoder.layer.{}.attention.attention.key", "encoder.layer.{}.layernorm_before")),
    Family("deit", sizes("deit"), "F64", bias=True, norm="centred", prefix="deit.", put=apart(
        "encoder.layer.{}.attention.attention.query", "encoder.layer.{}.attention.attention.key", "encoder.layer.{}.layernorm_before")),
    Family("t5", {"model_type": "t5", "num_layers": 2, "num_heads": 4, "d_model": 12, "d_kv": 5}, p=5, norm="rms", scale=1.0, put=apart(
        "encoder.block.{}.layer.0.SelfAttention.q", "encoder.block.{}.layer.0.SelfAttention.k", "encoder.block.{}.layer.0.layer_norm"),
           extra=["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]),
    Family("whisper", {"model_type": "whisper", "encoder_layers": 2, "encoder_attention_heads": 4, "d_model": 12}, "F16", bias=True,
           norm="centred", prefix="model.", put=apart("encoder.layers.{}.self_attn.q_proj", "encoder.layers.{}.self_attn.k_proj",
                                                      "encoder.layers.{}.self_attn_layer_norm")),
    Family("map", None, bias=True, shift=False, put=put_map),
]
LLAMA2C = [Family("llama2c-plain", None, d=16, heads=4, key_heads=2, norm="rms", shift=False, rotary=4, pairs=True),
           Family("llama2c-tables", None, d=16, heads=4, norm="rms", shift=False, rotary=4, pairs=True)]
MAP = {"query": ["one.w", "two.w"], "query_bias": ["one.b", "two.b"], "layout": "blocks", "transposed": True, "heads": 4}


def write_llama2c(f, tables, shared):
    f.draw()
    rng = np.random.default_rng(2)
    hidden, vocab, seq, kv = 20, 30, 8, f.key_heads * f.p
    stack = lambda key: np.concatenate([w[key].ravel() for w in f.weights])
    some = lambda n: rng.normal(size=n)
    parts = [some(vocab * f.d), stack("gain"), stack("q"), stack("k"), stack("v"), some(2 * f.d * f.d), some(2 * f.d), some(2 * hidden * f.d),
             some(2 * hidden * f.d), some(2 * hidden * f.d), some(f.d)]
    if tables:
        parts += [some(seq * f.p // 2), some(seq * f.p // 2)]
    if not shared:
        parts.append(some(vocab * f.d))
    head = struct.pack("<7i", f.d, hidden, f.layers, f.heads, f.key_heads, vocab if shared else -vocab, seq)
    with open(f"{f.name}.bin", "wb") as out:
        out.write(head + b"".join(x.astype(np.float32).tobytes() for x in parts))
    assert kv == f.weights[0]["k"].shape[0]


def make():
    for f in FAMILIES:
        f.write()
    with open("map.json", "w") as f:
        json.dump(MAP, f)
    write_llama2c(LLAMA2C[0], tables=False, shared=True)
    write_llama2c(LLAMA2C[1], tables=True, shared=False)


# --- what the tables say --------------------------------------------------------------------------------------------------


def read(path):
    body = [line.rstrip("\n").split("\t") for line in open(path)]
    return [dict(zip(body[0], row)) for row in body[1:]]


def near(found, expected, scale=1.0):
    assert abs(float(found) - expected) <= TOL * max(scale, 1.0), f"found {found}, expected {expected!r}"


def place(row):
    return int(row["layer"]), row["form"], int(row["key_head"] if row["form"] == "group" else row["head"])


def eigenvalues(m, n):
    """Of M_s on the space of dimension n, where the form is not zero by construction."""
    w = np.linalg.eigvalsh((m + m.T) / 2)
    assert len(w) == n
    return w


def tolerance(f, at):
    q, k, n = f.forms(*at)
    return (n + f.p) * np.finfo(float).eps * f.scale * np.linalg.norm(q) * np.linalg.norm(k)


def check_signs(row, w, zero):
    size = max(abs(w))
    assert int(row["n"]) == len(w)
    assert int(row["positive"]) == (w > zero).sum() and int(row["negative"]) == (w < -zero).sum() and int(row["zero"]) == (abs(w) <= zero).sum(), row
    near(row["negative_mass"], -w[w < 0].sum() / abs(w).sum())
    return size


def share(m):
    return ((m - m.T) ** 2).sum() / 4 / (m**2).sum()


def concentration(m):
    s = np.linalg.svd(m, compute_uv=False)
    return (s**4).sum() / (s**2).sum() ** 2


def check_inertia(f):
    rows = read(f"{f.name}.inertia.tsv")
    assert [place(r) for r in rows] == list(f.rows())
    for row in rows:
        w = eigenvalues(*f.dense(*place(row)))
        size = check_signs(row, w, tolerance(f, place(row)))
        near(row["stable_rank"], (w**2).sum() / size**2, 10)
        assert row["key_head"] == str(place(row)[2] if row["form"] == "group" else place(row)[2] // (f.heads // f.key_heads))


def check_spectrum(f):
    rows = read(f"{f.name}.spectrum.tsv")
    assert sorted({place(r) for r in rows}) == sorted(f.rows())
    for at in f.rows():
        w = eigenvalues(*f.dense(*at))
        mine = [r for r in rows if place(r) == at]
        assert len(mine) == (abs(w) > tolerance(f, at)).sum()
        for row in mine:
            value = float(row["eigenvalue"])
            near(value, w[int(row["index"])], max(abs(w)))
            assert (row["sign"] == "positive") == (value > 0)
            assert int(row["rank"]) == (int(row["index"]) + 1 if value < 0 else len(w) - int(row["index"]))


def expected_sd(n, a):
    """The moments of c = sum sigma_i sigma_j Q_ij Q_ji over the orthogonal group (docs/theory.md, asymmetry)."""
    return np.sqrt(3 / (n * (n + 2)) * (a + (n + 1) / (n - 1) * (1 - a)) - 1 / n**2) / 2


def check_asymmetry(f):
    seen = set()
    for row in read(f"{f.name}.asymmetry.tsv"):
        at = place(row)
        (m, n), value = f.dense(*at), float(row["value"])
        seen.add((row["quantity"],) + at)
        if row["quantity"] == "norm":
            near(value, np.linalg.norm(m), np.linalg.norm(m))
        elif row["quantity"] == "antisymmetric":
            near(value, share(m))
            if at[1] != "affine":
                near(row["expected"], (1 - 1 / n) / 2)
                near(row["sd"], expected_sd(n, concentration(m)))
                near(row["z"], (value - (1 - 1 / n) / 2) / expected_sd(n, concentration(m)), 10)
        elif row["quantity"] == "symmetry":
            near(value, np.trace(m @ m) / (m**2).sum())
        else:
            assert row["quantity"] == "cosine" and at[1] == "weights" and int(row["other"]) == at[0] - 1
            a, b = m - m.T, (lambda o: o - o.T)(f.dense(at[0] - 1, *at[1:])[0])
            near(value, (a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))
    assert sorted(seen) == sorted([(q,) + at for q in ("norm", "antisymmetric", "symmetry") for at in f.rows()]
                                  + [("cosine",) + at for at in f.rows() if at[1] == "weights" and at[0] > 0])


def gaussian(f, at, lag=0):
    """kappa and skewness of x'My + a'x + b'y for standard normal x, y, by Isserlis' theorem on the quadratic form of z = (x, y):
    cumulants of z'Az + l'z are 2^(r-1) (r-1)! [tr(A^r) + r/4 l'A^(r-2) l], A symmetric."""
    m, n = f.dense(*at, lag)
    if at[1] == "affine":
        linear, a, b = m[:-1, :-1], m[:-1, -1], m[-1, :-1]
    else:
        linear, a, b = m, np.zeros(n), np.zeros(n)
    k = len(linear)
    big = np.block([[np.zeros((k, k)), linear / 2], [linear.T / 2, np.zeros((k, k))]])
    l = np.concatenate([a, b])
    c2, c3, c4 = (2 ** (r - 1) * [1, 1, 2, 6][r - 1] * (np.trace(np.linalg.matrix_power(big, r)) + r / 4 * l @ np.linalg.matrix_power(big, r - 2) @ l)
                  for r in (2, 3, 4))
    return 1 + c4 / (3 * c2**2), c3 / c2**1.5


def check_kurtosis(f):
    rows = read(f"{f.name}.kurtosis.tsv")
    assert [place(r) for r in rows] == [at for at in f.rows() if at[1] != "group"]
    for row in rows:
        kappa, skewness = gaussian(f, place(row))
        near(row["kappa"], kappa)
        near(row["skewness"], skewness)
        near(row["effective_rank"], 1 / concentration(f.dense(*place(row))[0]), 10)


def check_lags(f):
    rows = read(f"{f.name}.lags.tsv")
    assert [place(r) + (int(r["lag"]),) for r in rows] == [at + (lag,) for at in f.rows() if at[1] != "group" for lag in LAGS]
    for row in rows:
        m, n = f.dense(*place(row), int(row["lag"]))
        check_signs(row, eigenvalues(m, n), tolerance(f, place(row)))
        near(row["antisymmetric"], share(m))
        near(row["norm"], np.linalg.norm(m), np.linalg.norm(m))
        near(row["kappa"], gaussian(f, place(row), int(row["lag"]))[0])


def check():
    number, bad = 0, 0
    for f in FAMILIES + LLAMA2C:
        f.draw()
        if f.name == "whisper":  # its keys have no bias
            for w in f.weights:
                w["bk"] = np.zeros_like(w["bk"])
        for part in (check_inertia, check_spectrum, check_asymmetry, check_kurtosis) + ((check_lags,) if f.rotary else ()):
            number += 1
            try:
                part(f)
                print(f"ok {number} - {f.name}: {part.__name__[6:]}")
            except AssertionError as e:
                bad += 1
                print(f"not ok {number} - {f.name}: {part.__name__[6:]}: {e}")
    print(f"1..{number}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(make() if sys.argv[1] == "make" else check())
