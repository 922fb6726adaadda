#!/usr/bin/python3
"""The same model in PyTorch (Debian: python3-torch), checked against hkt-eval on the same weights, then timed in turns
with hkt-bench in one run.

usage: torch_step.py --bin build/bin [--model hkt|mha] [--d-model 64] [--heads 4] [--layers 2] [--levels 3] [--fusion dynamic]
                     [--seq-len 512] [--batch 32] [--threads 2] [--rounds 7] [--check-only]

One training step is forward, backward and AdamW in both. The sequences have equal length, which suits PyTorch best (it
would pad otherwise). Prints one line per round and the ratio of the medians.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# The old OpenBLAS behind torch does not know recent processors; give it the kernels that hkt gets, or it runs several
# times slower and the comparison would flatter us. Read when the library is loaded, so it must be set before the import.
if "OPENBLAS_CORETYPE" not in os.environ:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        flags = cpuinfo.read()
    if "avx512f" in flags:
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"
    elif "avx2" in flags:
        os.environ["OPENBLAS_CORETYPE"] = "Haswell"

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, L, s, w = c["d_model"], c["levels"], c["stride"], c["conv_width"]
        self.c = c
        self.levels = L if c["fusion"] != "score" else 1
        self.down = nn.ParameterList([nn.Parameter(torch.full((s, d), 1.0 / s)) for _ in range(L - 1)])
        self.qk = nn.ModuleList([nn.Linear(d, 2 * d, bias=False) for _ in range(L)])
        self.v = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(self.levels)])
        if c["hybrid"]:
            self.conv = nn.ParameterList([nn.Parameter(torch.randn(w, d) / w) for _ in range(self.levels)])
            self.beta = nn.Parameter(torch.zeros(self.levels, c["heads"]))
        if L > 1:
            self.theta = nn.Parameter(torch.zeros(L))
            if c["fusion"] == "dynamic":
                self.gate = nn.Parameter(torch.zeros(L, d))
        self.out = nn.Linear(d, d, bias=False)
        self.mask = {}

    def causal_mask(self, n):
        if n not in self.mask:
            self.mask[n] = torch.full((n, n), float("-inf")).triu(1)
        return self.mask[n]

    def downsample(self, x, a):
        s = a.shape[0]
        b, t, d = x.shape
        n = (t + s - 1) // s
        x = F.pad(x, (0, 0, s - 1, n * s - (s - 1) - t if n * s - (s - 1) - t > 0 else 0))
        x = x[:, : n * s].reshape(b, n, s, d)  # window j holds positions s j - (s - 1) .. s j
        return (x * a.flip(0)).sum(2)

    def convolve(self, v, c):
        w, d = c.shape
        y = F.conv1d(F.pad(v.transpose(1, 2), (w - 1, 0)), c.t().flip(1).unsqueeze(1), groups=d)
        return y.transpose(1, 2)

    def heads(self, x):
        b, t, d = x.shape
        return x.reshape(b, t, self.c["heads"], -1).transpose(1, 2)

    def scores(self, x, l):
        q, k = self.qk[l](x).chunk(2, dim=-1)
        q, k = self.heads(q), self.heads(k)
        return q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5)

    def attend(self, s, v):
        if self.c["causal"]:
            s = s + self.causal_mask(s.shape[-1])
        return torch.softmax(s, dim=-1) @ self.heads(v)

    def mix(self, y, v, l):
        if not self.c["hybrid"]:
            return y
        g = torch.sigmoid(self.beta[l]).view(1, -1, 1, 1)
        return g * y + (1 - g) * self.heads(self.convolve(v, self.conv[l]))

    def join(self, y):
        b, h, t, p = y.shape
        return y.transpose(1, 2).reshape(b, t, h * p)

    def upsample(self, y, l, t):
        return y if l == 0 else y.repeat_interleave(self.c["stride"] ** l, dim=-2)[..., :t, :]

    def forward(self, x0):
        t, L = x0.shape[1], self.c["levels"]
        if L == 1:
            v = self.v[0](x0)
            return self.out(self.join(self.mix(self.attend(self.scores(x0, 0), v), v, 0)))
        xs = [x0]
        for l in range(1, L):
            xs.append(self.downsample(xs[-1], self.down[l - 1]))
        if self.c["fusion"] == "score":
            lam, total = torch.softmax(self.theta, 0), 0
            for l in range(L):
                s = self.upsample(self.scores(xs[l], l), l, t)
                s = self.upsample(s.transpose(-1, -2), l, t).transpose(-1, -2)
                total = total + lam[l] * s
            v = self.v[0](x0)
            return self.out(self.join(self.mix(self.attend(total, v), v, 0)))
        if self.c["fusion"] == "dynamic":
            alpha = torch.softmax(self.theta + x0.mean(1) @ self.gate.t(), -1)
        else:
            alpha = torch.softmax(self.theta, 0).expand(x0.shape[0], L)
        y = 0
        for l in range(L):
            v = self.v[l](xs[l])
            z = self.join(self.mix(self.attend(self.scores(xs[l], l), v), v, l))
            y = y + alpha[:, l, None, None] * self.upsample(z, l, t)
        return self.out(y)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, f = c["d_model"], c["ffn_mult"]
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = Attention(c)
        self.up, self.down = nn.Linear(d, f * d), nn.Linear(f * d, d)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        d = c["d_model"]
        self.embed, self.pos = nn.Embedding(c["vocab"], d), nn.Embedding(c["max_len"], d)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c["layers"])])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, c["classes"])

    def forward(self, tokens):
        x = self.embed(tokens) + self.pos.weight[: tokens.shape[1]]
        for b in self.blocks:
            x = b(x)
        return self.head(self.norm(x).mean(1))


def named(model, c):
    """{checkpoint name: tensor} of weights or, with grad=True copies, of gradients; q and k are halves of one matrix."""
    out = {"embed.weight": model.embed.weight, "pos.weight": model.pos.weight, "norm.weight": model.norm.weight,
           "norm.bias": model.norm.bias, "head.weight": model.head.weight, "head.bias": model.head.bias}
    d = c["d_model"]
    for i, b in enumerate(model.blocks):
        p, a = f"layers.{i}.", b.attn
        for n, m in (("norm1", b.norm1), ("norm2", b.norm2), ("ffn.up", b.up), ("ffn.down", b.down)):
            out[p + n + ".weight"], out[p + n + ".bias"] = m.weight, m.bias
        for l in range(c["levels"]):
            q = f"{p}attn.level.{l}."
            out[q + "q.weight"] = (a.qk[l].weight, slice(0, d))
            out[q + "k.weight"] = (a.qk[l].weight, slice(d, 2 * d))
            if l > 0:
                out[q + "down.weight"] = a.down[l - 1]
            if l < a.levels:
                out[q + "v.weight"] = a.v[l].weight
                if c["hybrid"]:
                    out[q + "conv.weight"] = a.conv[l]
        if c["levels"] > 1:
            out[p + "attn.theta"] = a.theta
            if c["fusion"] == "dynamic":
                out[p + "attn.gate.weight"] = a.gate
        if c["hybrid"]:
            out[p + "attn.beta"] = a.beta
        out[p + "attn.out.weight"] = a.out.weight
    return out


def pick(t, grad):
    if isinstance(t, tuple):
        t, rows = t
        return (t.grad if grad else t.detach())[rows].contiguous()
    return (t.grad if grad else t.detach()).contiguous()


def write_safetensors(path, tensors, meta):
    header, blobs, at = {"__metadata__": meta}, [], 0
    for name, t in tensors.items():
        raw = t.numpy().tobytes()
        dtype = {torch.float32: "F32", torch.int32: "I32"}[t.dtype]
        header[name] = {"dtype": dtype, "shape": list(t.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, v in json.loads(raw[8 : 8 + n]).items():
        if name != "__metadata__" and v["dtype"] == "F32":
            a, b = v["data_offsets"]
            out[name] = torch.frombuffer(bytearray(raw[8 + n + a : 8 + n + b]), dtype=torch.float32).reshape(v["shape"])
    return out


def check(args, c, model, tokens, labels):
    """Largest relative difference of loss and gradients between PyTorch and hkt-eval on the same weights."""
    for p in model.parameters():
        p.grad = None
    loss = F.cross_entropy(model(tokens), labels)
    loss.backward()
    with tempfile.TemporaryDirectory() as d:
        path, grads = os.path.join(d, "model.safetensors"), os.path.join(d, "grads.safetensors")
        tensors = {k: pick(v, False) for k, v in named(model, c).items()}
        tensors["input.tokens"] = tokens.to(torch.int32)
        tensors["input.lengths"] = torch.full((tokens.shape[0],), tokens.shape[1], dtype=torch.int32)
        tensors["input.labels"] = labels.to(torch.int32)
        write_safetensors(path, tensors, {"hkt.config": json.dumps(c)})
        subprocess.run([os.path.join(args.bin, "hkt-eval"), "--checkpoint", path, "--input", path, "--precision", "f32",
                        "--logits", os.path.join(d, "logits.npy"), "--grads", grads], check=True, stdout=subprocess.DEVNULL)
        ours = read_safetensors(grads)
    worst = abs(ours["loss"].item() - loss.item()) / abs(loss.item())
    for k, v in named(model, c).items():
        g = pick(v, True)
        scale = g.abs().max().item()
        diff = (ours["grad." + k] - g).abs().max().item()
        if not diff <= 1e-3 * scale + 1e-7:
            sys.exit(f"torch_step: gradient of {k} differs by {diff:g} (largest entry {scale:g})")
        worst = max(worst, diff / scale if scale > 0 else 0)
    return worst


def peak_rss():
    """MiB of this process at most. Not ru_maxrss, which a process inherits from the one that started it."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--bin", default="build/bin", help="directory of hkt-eval and hkt-bench")
    ap.add_argument("--model", choices=["hkt", "mha"], default="hkt")
    ap.add_argument("--fusion", choices=["dynamic", "static", "score"], default="dynamic")
    for name, default in (("d-model", 64), ("heads", 4), ("layers", 2), ("levels", 3), ("seq-len", 512), ("batch", 32),
                          ("threads", 2), ("rounds", 7)):
        ap.add_argument("--" + name, type=int, default=default)
    ap.add_argument("--check-only", action="store_true")
    args = ap.parse_args()
    base = peak_rss()
    torch.manual_seed(20260408)
    torch.set_num_threads(args.threads)
    hkt = args.model == "hkt"
    c = {"vocab": 20, "classes": 10, "max_len": args.seq_len, "d_model": args.d_model, "heads": args.heads,
         "layers": args.layers, "levels": args.levels if hkt else 1, "stride": 2, "conv_width": 4, "ffn_mult": 4,
         "fusion": args.fusion if hkt else "static", "hybrid": hkt, "causal": True}
    model = Model(c)
    tokens = torch.randint(0, c["vocab"], (args.batch, args.seq_len))
    labels = torch.randint(0, c["classes"], (args.batch,))
    small = slice(0, min(args.batch, 4))
    print(f"largest relative difference of loss and gradients: {check(args, c, model, tokens[small], labels[small]):.2e}")
    if args.check_only:
        return
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

    def step():
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(model(tokens), labels).backward()
        opt.step()

    command = [os.path.join(args.bin, "hkt-bench"), "step", "--model", args.model, "--levels", str(args.levels),
               "--fusion", args.fusion, "--d-model", str(args.d_model), "--heads", str(args.heads),
               "--layers", str(args.layers), "--seq-len", str(args.seq_len), "--batch", str(args.batch),
               "--threads", str(args.threads), "--repeats", "7", "--json", "-"]
    step()
    theirs, ours, count = [], [], args.batch * args.seq_len
    for r in range(args.rounds):
        begin = time.perf_counter()
        step()
        theirs.append(count / (time.perf_counter() - begin))
        run = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        bench = json.loads(run.stdout)
        ours.append(bench["tokens_per_s"])
        print(f"round {r + 1}: torch {theirs[-1]:8.0f} tokens/s   hkt {ours[-1]:8.0f} tokens/s   ratio {ours[-1] / theirs[-1]:.2f}",
              flush=True)
    a, b = statistics.median(ours), statistics.median(theirs)
    rss, mine = peak_rss(), bench["peak_rss_bytes"] / 2**20
    print(f"median: torch {b:.0f} tokens/s, hkt {a:.0f} tokens/s, ratio {a / b:.2f} "
          f"(rounds {min(x / y for x, y in zip(ours, theirs)):.2f} .. {max(x / y for x, y in zip(ours, theirs)):.2f}); "
          f"torch {torch.__version__}, OPENBLAS_CORETYPE {os.environ.get('OPENBLAS_CORETYPE', 'unset')}")
    print(f"peak memory: torch {rss:.0f} MiB ({base:.0f} before there was a model), hkt {mine:.0f} MiB; share {mine / rss:.3f}")


if __name__ == "__main__":
    main()
