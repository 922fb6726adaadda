"""Small models with all their weights (GPT-2, LLaMA with grouped keys and biases, llama2.c), and their forward pass up to the scores by numpy
alone, as Hugging Face's and llama2.c's sources have it. usage: foreign_forward.py make | check    (TAP lines on standard output)"""
import json
import math
import os
import struct
import sys

import numpy as np

from foreign_models import encode, read, write_safetensors
from numpy_check import moments, near, spacing_entropy
from stored_scores import centred, turn

N, T, VOCAB, LAYERS = 11, 20, 30, 3
TOKENS = np.random.default_rng(3).integers(0, VOCAB, size=(N, T))


def norm(x, gain, shift, centred, eps):
    x = x - x.mean(axis=-1, keepdims=True) if centred else x
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain + shift


def softmax(s):
    e = np.exp(np.where(np.tri(T) > 0, s, -np.inf) - np.where(np.tri(T) > 0, s, -np.inf).max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Model:
    def __init__(self, name, d, heads, key_heads, p, hidden, gpt=False, bias=False, eps=1e-5, base=10000.0, pairs=False):
        self.name, self.d, self.heads, self.key_heads, self.p, self.hidden = name, d, heads, key_heads, p, hidden
        self.gpt, self.bias, self.eps, self.base, self.pairs = gpt, bias, eps, base, pairs
        rng = np.random.default_rng(sum(map(ord, name)))
        f32 = lambda *shape: (rng.normal(size=shape) / math.sqrt(shape[-1])).astype(np.float32).astype(float)
        self.embedding, self.positions = 4 * f32(VOCAB, d), f32(T + 2, d)
        qn, kn = heads * p, key_heads * p
        self.layer = [{"q": 2 * f32(qn, d), "k": 2 * f32(kn, d), "v": f32(kn, d), "o": f32(d, qn), "up": f32(hidden, d), "gate": f32(hidden, d),
                       "down": f32(d, hidden), **{key: f32(n) for key, n in (("bq", qn), ("bk", kn), ("bv", kn), ("bo", d), ("bup", hidden), ("bdown", d))},
                       **{key: f32(d) for key in ("shift1", "shift2")}, **{key: (1 + f32(d)).astype(np.float32).astype(float) for key in ("gain1", "gain2")}} for _ in range(LAYERS)]

    def scores(self):
        """[layers, N, heads, T, T]"""
        x, out = self.embedding[TOKENS] + (self.positions[:T] if self.gpt else 0), []
        heads = lambda y, n: np.swapaxes(y.reshape(N, T, n, self.p), 1, 2)
        for w in self.layer:
            b = lambda key, on: w[key] if on else 0
            y = norm(x, w["gain1"], b("shift1", self.gpt), self.gpt, self.eps)
            q, k, v = (heads(y @ w[s].T + b("b" + s, self.bias or self.gpt), n) for s, n in (("q", self.heads), ("k", self.key_heads), ("v", self.key_heads)))
            if not self.gpt:
                q, k = turn(q, self.base, self.p, self.pairs), turn(k, self.base, self.p, self.pairs)
            k, v = (np.repeat(z, self.heads // self.key_heads, axis=1) for z in (k, v))
            out.append(q @ np.swapaxes(k, 2, 3) / math.sqrt(self.p))
            mixed = np.swapaxes(softmax(out[-1]) @ v, 1, 2).reshape(N, T, -1)
            x = x + mixed @ w["o"].T + b("bo", self.gpt)
            y = norm(x, w["gain2"], b("shift2", self.gpt), self.gpt, self.eps)
            u = y @ w["up"].T + b("bup", self.gpt)
            if self.gpt:
                h = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
            else:
                g = y @ w["gate"].T
                h = u * g / (1 + np.exp(-g))
            x = x + h @ w["down"].T + b("bdown", self.gpt)
        return np.array(out)

    def write(self):
        tensors = {}

        def add(name, x):
            x = np.ascontiguousarray(x)
            tensors[name] = ("F32", x.shape, encode(x, "F32")[0])

        os.makedirs(self.name)
        if self.gpt:
            config = dict(model_type="gpt2", n_layer=LAYERS, n_head=self.heads, n_embd=self.d, layer_norm_epsilon=self.eps)
            add("wte.weight", self.embedding)
            add("wpe.weight", self.positions)
            for i, w in enumerate(self.layer):
                for name, weight, bias in (("attn.c_proj", "o", "bo"), ("mlp.c_fc", "up", "bup"), ("mlp.c_proj", "down", "bdown")):
                    add(f"h.{i}.{name}.weight", w[weight].T)
                    add(f"h.{i}.{name}.bias", w[bias])
                add(f"h.{i}.attn.c_attn.weight", np.concatenate([w["q"], w["k"], w["v"]]).T)
                add(f"h.{i}.attn.c_attn.bias", np.concatenate([w["bq"], w["bk"], w["bv"]]))
                for n in "12":
                    add(f"h.{i}.ln_{n}.weight", w["gain" + n])
                    add(f"h.{i}.ln_{n}.bias", w["shift" + n])
        else:
            config = dict(model_type="llama", num_hidden_layers=LAYERS, num_attention_heads=self.heads, num_key_value_heads=self.key_heads,
                          hidden_size=self.d, head_dim=self.p, rms_norm_eps=self.eps, rope_theta=self.base, hidden_act="silu")
            add("model.embed_tokens.weight", self.embedding)
            for i, w in enumerate(self.layer):
                for side in "qkvo":
                    add(f"model.layers.{i}.self_attn.{side}_proj.weight", w[side])
                    if self.bias and side != "o":
                        add(f"model.layers.{i}.self_attn.{side}_proj.bias", w["b" + side])
                for part in ("gate", "up", "down"):
                    add(f"model.layers.{i}.mlp.{part}_proj.weight", w[part])
                add(f"model.layers.{i}.input_layernorm.weight", w["gain1"])
                add(f"model.layers.{i}.post_attention_layernorm.weight", w["gain2"])
        with open(f"{self.name}/config.json", "w") as f:
            json.dump(config, f)
        write_safetensors(f"{self.name}/model.safetensors", tensors)

    def write_llama2c(self):
        stack = lambda key: np.concatenate([w[key].ravel() for w in self.layer])
        parts = [self.embedding.ravel()] + [stack(k) for k in ("gain1", "q", "k", "v", "o", "gain2", "gate", "down", "up")] + [np.ones(self.d)]
        with open(f"{self.name}.bin", "wb") as f:
            f.write(struct.pack("<7i", self.d, self.hidden, LAYERS, self.heads, self.key_heads, VOCAB, 64))
            f.write(np.concatenate(parts).astype("<f4").tobytes())


MODELS = [Model("gpt2", 12, 3, 3, 4, 20, gpt=True), Model("llama", 16, 4, 2, 6, 24, bias=True, eps=1e-6, base=500.0),
          Model("narrow", 20, 2, 1, 4, 9), Model("llama2c", 16, 4, 2, 4, 24, pairs=True)]


def check_kurtosis(model, s):
    for row in read(f"{model.name}.kurtosis.tsv"):
        if row["head"] == "NA":
            continue
        x = s[int(row["layer"]), :, int(row["head"])][:, np.tri(T) > 0].ravel()
        kappa, skewness = moments(x)
        assert int(row["n"]) == len(x) and int(row["sequences"]) == N
        near(row["kappa"], kappa)
        near(row["skewness"], skewness)
        rows = np.concatenate([centred(m, "causal")[np.tri(T) > 0] for m in s[int(row["layer"]), :, int(row["head"])]])
        near(row["kappa_row_centred"], moments(rows)[0])


def check_information(model, s):
    rows = [r for r in read(f"{model.name}.information.tsv") if r["kind"] == "scores"]
    assert len(rows) == LAYERS * model.heads
    for row in rows:
        x = s[int(row["layer"]), :, int(row["head"])][:, np.tri(T) > 0].ravel()
        near(row["negentropy"], 0.5 * math.log(2 * math.pi * math.e * x.var()) - spacing_entropy(x), 1e-6)


def make():
    for m in MODELS:
        m.write_llama2c() if m.pairs else m.write()
    np.save("tokens.npy", TOKENS)
    np.save("short.npy", TOKENS[:4].astype(np.int32))
    np.save("one.npy", TOKENS[0])
    np.save("long.npy", np.zeros((2, 40), dtype=int))
    np.save("unknown.npy", np.array([[0, 3, VOCAB]]))
    np.save("real.npy", TOKENS.astype(float))


def check():
    number, bad = 0, 0
    for m in MODELS:
        s = m.scores()
        for part in (check_kurtosis, check_information):
            number += 1
            try:
                part(m, s)
                print(f"ok {number} - {m.name}: {part.__name__[6:]} of the forward pass")
            except AssertionError as e:
                bad += 1
                print(f"not ok {number} - {m.name}: {part.__name__[6:]} of the forward pass: {e}")
    print(f"1..{number}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(make() if sys.argv[1] == "make" else check())
