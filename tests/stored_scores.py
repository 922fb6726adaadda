"""Queries, keys, scores and hidden states as other programs store them, written by numpy alone, and what hkt-analyze --scores and --hidden
must say of them. usage: stored_scores.py make | check    (in a directory of its own; TAP lines on standard output)
Tolerance: 1e-12 of the largest eigenvalue, norm or 1 for forms; for moments that of numpy_check.py."""
import json
import sys

import numpy as np

from foreign_models import concentration, encode, near as near_form, read, share, write_safetensors
from numpy_check import check_interval, moments, near, spacing_entropy


def turn(x, base, r, pairs):
    """Rotary positions on [..., T, p] as complex multiplication of the first r elements of token t by e^(i t base^(-2c/r))."""
    T, c = x.shape[-2], np.arange(r // 2)
    first, second = (x[..., 0:r:2], x[..., 1:r:2]) if pairs else (x[..., : r // 2], x[..., r // 2 : r])
    z = (first + 1j * second) * np.exp(1j * np.arange(T)[:, None] * base ** (-2.0 * c / r))
    out = x.copy()
    if pairs:
        out[..., 0:r:2], out[..., 1:r:2] = z.real, z.imag
    else:
        out[..., : r // 2], out[..., r // 2 : r] = z.real, z.imag
    return out


def centred(m, mask):
    """Every row less the mean of what is used of it."""
    seen = np.tri(len(m)) if mask == "causal" else np.ones_like(m)
    return m - (m * seen).sum(axis=1, keepdims=True) / seen.sum(axis=1, keepdims=True)


class Case:
    """One forward pass. files: how it is stored; q, k: as hkt reads them; s [layers, n, heads, T, T]: what the scores are."""

    def __init__(self, name, seed, layers=1, n=12, heads=4, key_heads=None, T=40, p=6, dtype="F64", mask="causal", map=None, lengths=False,
                 matrix=False):
        self.name, self.mask, self.map, self.matrix, self.layers, self.n, self.heads = name, mask, map or {}, matrix, layers, n, heads
        rng = np.random.default_rng(seed)
        draw = lambda h: rng.normal(size=(layers, n, h, T, p)) * np.exp(0.3 * rng.normal(size=(1, n, 1, 1, 1)))
        self.q, self.k = ((encode(x, dtype)[1].reshape(x.shape)) for x in (draw(heads), draw(key_heads or heads)))
        self.dtype, self.T, self.p = dtype, T, p
        self.lengths = rng.integers(T // 2, T + 1, size=n) if lengths else np.full(n, T)
        self.has_lengths = lengths

    def scores(self):
        q, k = self.q, self.k
        if "rotary_dimensions" in self.map:
            rotary = self.map.get("rotary_base", 10000), self.map["rotary_dimensions"], self.map.get("rotary_pairs", False)
            q, k = turn(q, *rotary), turn(k, *rotary)
        k = np.repeat(k, self.heads // k.shape[2], axis=2)
        return self.map.get("scale", 1 / np.sqrt(self.p)) * np.einsum("lnhip,lnhjp->lnhij", q, k)

    def write(self):
        with open(f"{self.name}.json", "w") as f:
            json.dump(self.map, f)
        if self.matrix:
            s = self.scores()
            s = np.where(np.tri(self.T) > 0, s, -np.inf) if self.mask == "causal" else s
            np.save(f"{self.name}.npy", s[0] if self.layers == 1 else s)
        elif self.has_lengths:
            tensors = {key: (self.dtype, x.shape, encode(x, self.dtype)[0]) for key, x in (("q", self.q), ("k", self.k))}
            tensors["lengths"] = ("I64", (self.n,), self.lengths.astype("<i8").tobytes())
            write_safetensors(f"{self.name}.safetensors", tensors)
        else:
            to = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}[self.dtype]
            for key, x in (("q", self.q), ("k", self.k)):
                np.save(f"{self.name}.{key}.npy", (x[0] if self.layers == 1 else x).astype(to))

    def look(self):
        """After make: entries(layer, head) per sequence, matrix(layer, head, sequence)."""
        self.s = self.scores()
        used = lambda m: m[np.tri(len(m)) > 0] if self.mask == "causal" else m.ravel()
        self.dense = lambda l, h, i: self.s[l, i, h, : self.lengths[i], : self.lengths[i]]
        self.entries = lambda l, h: [used(self.dense(l, h, i)) for i in range(self.n)]
        self.centred = lambda l, h: np.concatenate([used(centred(self.dense(l, h, i), self.mask)) for i in range(self.n)])


CASES = [Case("grouped", 1, layers=2, key_heads=2), Case("tiles", 2, n=10, heads=2, T=150, p=8, dtype="F16", mask="none"),
         Case("halves", 3, dtype="F32", map={"rotary_dimensions": 4, "rotary_base": 100, "scale": 0.3}),
         Case("pairs", 4, T=33, mask="none", map={"rotary_dimensions": 6, "rotary_pairs": True}),
         Case("lengths", 5, layers=2, heads=6, key_heads=3, T=50, dtype="BF16", lengths=True), Case("matrix", 6, n=11, heads=3, mask="none", matrix=True),
         Case("masked", 7, layers=2, n=10, heads=2, matrix=True), Case("wide", 8, n=10, heads=2, T=9, p=12, mask="none")]


def check_kurtosis(case):
    rows = read(f"{case.name}.kurtosis.tsv")
    assert [(r["layer"], r["head"]) for r in rows] == [(str(l), h) for l in range(case.layers) for h in [*map(str, range(case.heads)), "NA"]]
    width = (case.heads + 1) * (case.heads + 2) // 2
    step = (width**2 // 24 + 4) | 1
    for row in rows:
        layer = int(row["layer"])
        assert row["level"] == "0" and int(row["sequences"]) == case.n
        if row["head"] != "NA":
            parts = case.entries(layer, int(row["head"]))
            kappa, skewness = moments(np.concatenate(parts))
            assert int(row["n"]) == sum(map(len, parts)) and row["status"] == "ok", row
            near(row["kappa"], kappa)
            near(row["excess"], 3 * kappa - 3)
            near(row["skewness"], skewness)
            near(row["kappa_row_centred"], moments(case.centred(layer, int(row["head"])))[0])
            if row["head"] == "1" and case.name in ("wide", "lengths"):  # a thousand resamples take their time
                check_interval(parts, float(row["kappa_lo"]), float(row["kappa_hi"]))
            continue
        if case.T > 64:  # entries come in tiles then
            continue
        heads = [case.entries(layer, h) for h in range(case.heads)]
        y = np.concatenate([np.array([heads[h][i] for h in range(case.heads)])[:, i % step :: step] for i in range(case.n)], axis=1)
        z = y - y.mean(axis=1, keepdims=True)
        b = (np.einsum("in,ij,jn->n", z, np.linalg.inv(z @ z.T / z.shape[1]), z) ** 2).mean()
        assert int(row["n"]) == y.shape[1] and int(row["q"]) == case.heads
        near(row["kappa"], b / (case.heads * (case.heads + 2)), 1e-8)  # as in numpy_check.py


def check_histogram(case):
    rows = read(f"{case.name}.histogram.tsv")
    assert len(rows) == 160 * case.layers * case.heads
    for layer in range(case.layers):
        for head in range(case.heads):
            x = np.concatenate(case.entries(layer, head))
            count = np.array([int(r["count"]) for r in rows if (r["layer"], r["head"]) == (str(layer), str(head))])
            edges = np.linspace(-10, 10, 161)
            edges[0], edges[-1] = -np.inf, np.inf
            expected = np.histogram((x - x.mean()) / x.std(), edges)[0]
            assert count.sum() == len(x) and abs(count - expected).sum() <= 2  # a value on an edge may fall on either side


def check_information(case):
    rows = [r for r in read(f"{case.name}.information.tsv") if r["kind"] == "scores"]
    assert len(rows) == case.layers * case.heads
    for row in rows:
        x = np.concatenate(case.entries(int(row["layer"]), int(row["head"])))
        if len(x) > 20000:  # a sample
            assert 0 < int(row["n"]) <= 20000 + case.n
            continue
        kappa, skewness = moments(x)
        assert int(row["n"]) == len(x)
        near(row["kappa"], kappa)
        near(row["negentropy"], 0.5 * np.log(2 * np.pi * np.e * x.var()) - spacing_entropy(x), 1e-6)
        near(row["expansion"], skewness**2 / 12 + 3 / 16 * (kappa - 1) ** 2)


def places(case):
    return [(str(l), str(h), str(i)) for l in range(case.layers) for i in range(case.n) for h in range(case.heads)]


def check_inertia(case):
    rows = read(f"{case.name}.inertia.tsv")
    assert [(r["layer"], r["head"], r["sequence"]) for r in rows] == places(case)
    for row in rows:
        m = case.dense(int(row["layer"]), int(row["head"]), int(row["sequence"]))
        if case.matrix and case.mask == "causal":
            assert row["status"].startswith("skipped: scores above the diagonal") and row["negative_mass"] == "NA"
            continue
        w, T = np.linalg.eigvalsh((m + m.T) / 2), len(m)
        zero = 1e-11 * max(abs(w))  # far above the tolerance, far below the smallest eigenvalue that is not zero
        assert row["status"] == "ok" and int(row["n"]) == T
        assert [int(row[s]) for s in ("positive", "negative", "zero")] == [(w > zero).sum(), (w < -zero).sum(), (abs(w) <= zero).sum()]
        near_form(row["negative_mass"], -w[w < 0].sum() / abs(w).sum())
        near_form(row["stable_rank"], (w**2).sum() / (w**2).max(), 10)


def check_asymmetry(case):
    rows = read(f"{case.name}.asymmetry.tsv")
    assert [(r["layer"], r["head"], r["sequence"]) for r in rows] == places(case)
    for row in rows:
        m = case.dense(int(row["layer"]), int(row["head"]), int(row["sequence"]))
        if case.matrix and case.mask == "causal":
            assert row["antisymmetric"] == "NA"
            continue
        near_form(row["norm"], np.linalg.norm(m), np.linalg.norm(m))
        near_form(row["antisymmetric"], share(m))
        near_form(row["symmetry"], np.trace(m @ m) / (m**2).sum())


# --- hidden states --------------------------------------------------------------------------------------------------------

HIDDEN = np.random.default_rng(9).normal(size=(2, 3, 75, 5)).cumsum(axis=2)


def bands(x, s):
    """Energy of a signal [n, d] in the bands of three levels, by numpy's transform; a frequency on an edge counts half on either side."""
    n, energy = len(x), np.zeros(3)
    power = (abs(np.fft.fft(x, axis=0)) ** 2).sum(axis=1) / n
    for k in range(n):
        w = 2 * min(k, n - k) / n  # of pi
        for b in range(3):
            low, high = (s ** -(b + 1.0) if b < 2 else -1), s ** -float(b)
            inside = 1.0 if low < w < high else 0.5 if w in (low, high) and w < 1 else 1.0 if b == 0 and w == 1 else 0.0
            energy[b] += inside * power[k]
    return energy


def check_bands():
    for name, s in (("hidden2", 2), ("hidden3", 3)):
        rows, row = read(f"{name}.tsv"), 0
        for layer in range(2):
            total = {"raw": np.zeros((3, 3)), "detail": np.zeros((3, 3))}
            for x in HIDDEN[layer]:
                levels = [x]
                for _ in range(2):  # equal weights over the token and the s - 1 before it, every s-th kept
                    padded = np.concatenate([np.zeros((s - 1, 5)), levels[-1]])
                    levels.append(np.array([padded[j : j + s].mean(axis=0) for j in range(0, len(levels[-1]), s)]))
                up = [np.repeat(level, s**i, axis=0)[:75] for i, level in enumerate(levels)]
                window = slice(s * s, s * s + (75 - s * s) // (s * s) * s * s)
                for i in range(3):
                    total["raw"][i] += bands(up[i][window], s)
                    total["detail"][i] += bands((up[i] - (up[i + 1] if i < 2 else 0))[window], s)
            for quantity in ("raw", "detail"):
                for i in range(9):
                    r, energy = rows[row], total[quantity][i // 3]
                    row += 1
                    assert (r["quantity"], int(r["layer"]), int(r["level"]), int(r["band"])) == (quantity, layer, i // 3, i % 3)
                    near(r["value"], energy[i % 3] / energy.sum())
                    if quantity == "raw" and i < 3:  # white noise: the widths of the bands, up to the width of one frequency
                        near(r["reference"], ((1 - 1 / s), (1 / s - s**-2.0), s**-2.0)[i], 0.02)
        assert row == len(rows)


def make():
    for case in CASES:
        case.write()
    np.save("hidden.npy", HIDDEN)
    np.save("one.npy", HIDDEN[0].astype("<f4"))


def check():
    number, bad = 0, 0
    parts = [(c, f) for c in CASES for f in (check_kurtosis, check_histogram, check_information, check_inertia, check_asymmetry)]
    for case in CASES:
        case.look()
    for case, part in parts + [(None, check_bands)]:
        number += 1
        text = f"{case.name if case else 'hidden'}: {part.__name__[6:]}"
        try:
            part(case) if case else part()
            print(f"ok {number} - {text}")
        except AssertionError as e:
            bad += 1
            print(f"not ok {number} - {text}: {e}")
    print(f"1..{number}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(make() if sys.argv[1] == "make" else check())
