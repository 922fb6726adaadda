"""The model and its checkpoint written again in numpy (docs/model.md), float64, one sequence at a time: what cli_numpy.sh compares
the tables of hkt-analyze with. Shares no code and no formula's shape with the C source."""
import json

import numpy as np

NAMES = {**{str(i): i for i in range(10)}, "[MIN": 10, "[MAX": 11, "[MED": 12, "[SM": 13, "]": 14}


def read_checkpoint(path):
    """(configuration, {name: float64 array})."""
    raw = open(path, "rb").read()
    n = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + n])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + n + at for at in entry["data_offsets"])
        dtype = {"F32": "<f4", "F64": "<f8", "I32": "<i4"}[entry["dtype"]]
        tensors[name] = np.frombuffer(raw[begin:end], dtype).astype(float).reshape(entry["shape"])
    return json.loads(header["__metadata__"]["hkt.config"]), tensors


def read_table(path):
    """[{column: text}]."""
    rows = [line.split("\t") for line in open(path).read().splitlines()]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def read_listops(path, n):
    """The first n (tokens, label)."""
    rows = [line.split("\t") for line in open(path).read().split("\n")[1 : n + 1]]
    return [(np.array([NAMES[t] for t in row[0].split()]), int(row[1])) for row in rows]


def layernorm(x, weight, bias):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def convolve(v, weight):
    out = np.zeros_like(v)
    for k in range(len(weight)):
        out[k:] += weight[k] * v[: len(v) - k]
    return out


class Model:
    def __init__(self, path):
        self.c, self.t = read_checkpoint(path)
        c = self.c
        self.d, self.H, self.s = c["d_model"], c["heads"], c["stride"]
        self.L, self.N, self.p = c["levels"], c["layers"], c["d_model"] // c["heads"]

    def at(self, layer, level, name):
        return self.t[f"layers.{layer}.attn.level.{level}.{name}.weight"]

    def cut(self, layer, level, head, name):
        """The rows of one head of q, k or v: [p, d]."""
        return self.at(layer, level, name)[head * self.p : (head + 1) * self.p]

    def form(self, layer, level, head):
        return self.cut(layer, level, head, "q").T @ self.cut(layer, level, head, "k") / np.sqrt(self.p)

    def weights(self, layer):
        return softmax(self.t[f"layers.{layer}.attn.theta"]) if self.L > 1 else np.ones(1)

    def share(self, layer, level, head):
        return 1 / (1 + np.exp(-self.t[f"layers.{layer}.attn.beta"][level, head])) if self.c["hybrid"] else 1.0

    def down(self, layer, level, x):
        """X^(level) from X^(level - 1)."""
        a = self.at(layer, level, "down")
        out = np.zeros((-(-len(x) // self.s), x.shape[1]))
        for j in range(len(out)):
            for k in range(min(self.s, self.s * j + 1)):
                out[j] += a[k] * x[self.s * j - k]
        return out

    def upsample(self, level, x, T):
        return np.repeat(x, self.s**level, axis=0)[:T]

    def upsample_both(self, level, m, T):
        return self.upsample(level, self.upsample(level, m, T).T, T).T

    def mixed(self, layer, level, v, scores, off):
        """Y of one level: attention and convolution of every head; off(part, level, head): that part counts as zero."""
        y = np.zeros_like(v)
        for h in range(self.H):
            span = slice(h * self.p, (h + 1) * self.p)
            s = scores[h]
            if self.c["causal"]:
                s = np.where(np.tri(len(s)) > 0, s, -np.inf)
            beta = self.share(layer, level, h)
            if not off("attention", level, h):
                y[:, span] += beta * softmax(s) @ v[:, span]
            if self.c["hybrid"] and not off("convolution", level, h):
                y[:, span] += (1 - beta) * convolve(v, self.at(layer, level, "conv"))[:, span]
        return y

    def attention(self, layer, x, off, tap):
        T = len(x)
        inputs = [x]
        for level in range(1, self.L):
            inputs.append(self.down(layer, level, inputs[-1]))
        scores = [[z @ self.form(layer, level, h) @ z.T for h in range(self.H)] for level, z in enumerate(inputs)]
        weight = self.weights(layer)
        alpha = weight
        if self.c["fusion"] == "dynamic" and self.L > 1:
            gate = self.t[f"layers.{layer}.attn.gate.weight"]
            alpha = softmax(self.t[f"layers.{layer}.attn.theta"] + gate @ x.mean(axis=0))
        outputs = []
        if self.c["fusion"] == "score" and self.L > 1:
            total = [sum(weight[level] * self.upsample_both(level, scores[level][h], T) for level in range(self.L)) for h in range(self.H)]
            y = self.mixed(layer, 0, x @ self.at(layer, 0, "v").T, total, lambda part, level, h: off(part, layer, level, h))
        else:
            for level, z in enumerate(inputs):
                outputs.append(self.mixed(layer, level, z @ self.at(layer, level, "v").T, scores[level],
                                          lambda part, level, h: off(part, layer, level, h)))
            y = sum(alpha[level] * self.upsample(level, outputs[level], T) for level in range(self.L))
        tap.append({"x": inputs, "scores": scores, "alpha": alpha, "y": outputs})
        return y @ self.t[f"layers.{layer}.attn.out.weight"].T

    def forward(self, tokens, off=lambda part, layer, level, head: False):
        """(logits, per layer {x, scores, alpha, y})."""
        t, tap = self.t, []
        x = t["embed.weight"][tokens] + t["pos.weight"][: len(tokens)]
        for n in range(self.N):
            name = f"layers.{n}."
            x = x + self.attention(n, layernorm(x, t[name + "norm1.weight"], t[name + "norm1.bias"]), off, tap)
            u = layernorm(x, t[name + "norm2.weight"], t[name + "norm2.bias"]) @ t[name + "ffn.up.weight"].T + t[name + "ffn.up.bias"]
            u = u / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))
            x = x + u @ t[name + "ffn.down.weight"].T + t[name + "ffn.down.bias"]
        x = layernorm(x, t["norm.weight"], t["norm.bias"])
        return x.mean(axis=0) @ t["head.weight"].T + t["head.bias"], tap

    def used(self, s):
        """The entries of a score matrix that the model looks at, row by row."""
        return s[np.tri(len(s)) > 0] if self.c["causal"] else s.ravel()
