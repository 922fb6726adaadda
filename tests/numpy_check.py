"""What every table of hkt-analyze must say of the models that cli_numpy.sh trained, by numpy_model.py. TAP lines on standard output.
Tolerances: REL, for what both sides compute in float64 from the same weights in other orders of summation: some 1e4 operations deep,
conditioned by layer norms and softmaxes of a few layers, so 1e4 eps = 2e-12, times 50. Where less holds, the line says why."""
import math
import sys

import numpy as np

from numpy_model import Model, read_listops, read_table

REL = 1e-10
EPS = np.finfo(float).eps
RNG = np.random.default_rng(1)


def near(found, expected, tol=REL, scale=None):
    found, expected = float(found), float(expected)
    scale = max(abs(expected), 1.0) if scale is None else scale
    assert abs(found - expected) <= tol * scale, f"found {found!r}, expected {expected!r}"


def place(row):
    return tuple(int(row[k]) for k in ("layer", "level", "head"))


class Case:
    def __init__(self, name):
        self.name, self.model = name, Model(f"{name}/best.safetensors")
        self.first = Model(f"{name}/kept/step-00000000.safetensors")
        self.data = read_listops("d/val.tsv", 12)
        self.taps = [self.model.forward(tokens) for tokens, _ in self.data]

    def table(self, what):
        return read_table(f"{self.name}.{what}.tsv")

    def entries(self, layer, level, head, model=None, taps=None):
        """Per sequence the scores that are looked at."""
        model, taps = model or self.model, taps or self.taps
        return [model.used(tap[layer]["scores"][level][head]) for _, tap in taps]

    def rows_centred(self, entries):
        """Entries of one sequence, row after row, less the means of their rows."""
        causal = self.model.c["causal"]
        T = math.isqrt(2 * len(entries)) if causal else math.isqrt(len(entries))
        ends = np.cumsum([i + 1 if causal else T for i in range(T)])
        return np.concatenate([row - row.mean() for row in np.split(entries, ends[:-1])])

    def cut(self, model, T):
        """The taps of the first T tokens of the first sequence."""
        return model.forward(self.data[0][0][:T])[1]


# --- scores of the whole data set ---------------------------------------------------------------------------------------


def moments(x):
    z = x - x.mean()
    m2, m3, m4 = (float((z**k).mean()) for k in (2, 3, 4))
    return m4 / (3 * m2**2), m3 / m2**1.5


def kurtosis(case):
    width = (case.model.H + 1) * (case.model.H + 2) // 2
    step = (width**2 // 24 + 4) | 1  # hkt-analyze(1): odd, about 4 + ((H+1)(H+2)/10)^2
    for row in case.table("kurtosis"):
        layer, level = int(row["layer"]), int(row["level"])
        if row["head"] != "NA":
            parts = case.entries(layer, level, int(row["head"]))
            x = np.concatenate(parts)
            kappa, skewness = moments(x)
            assert int(row["n"]) == len(x) and row["status"] == "ok"
            near(row["kappa"], kappa)
            near(row["excess"], 3 * kappa - 3)
            near(row["skewness"], skewness)
            near(row["ceiling"], len(x) / 3)
            near(row["kappa_row_centred"], moments(np.concatenate([case.rows_centred(p) for p in parts]))[0])
            if layer == 1 and row["head"] == "0":
                check_interval(parts, float(row["kappa_lo"]), float(row["kappa_hi"]))
            continue
        heads = [case.entries(layer, level, h) for h in range(case.model.H)]
        y = np.concatenate([np.array([heads[h][i] for h in range(case.model.H)])[:, i % step :: step] for i in range(len(case.data))], axis=1)
        z = y - y.mean(axis=1, keepdims=True)
        b = (np.einsum("in,ij,jn->n", z, np.linalg.inv(z @ z.T / z.shape[1]), z) ** 2).mean()
        q = case.model.H
        assert int(row["n"]) == y.shape[1] and int(row["q"]) == q
        near(row["kappa"], b / (q * (q + 2)), 1e-8)  # sums of products up to degree four, not centred: condition of the covariance


def log_kappa(parts):
    """log kappa of all parts, and its standard error from what each part changes to first order."""
    x = np.concatenate(parts)
    c, N = x.mean(), len(x)
    S2, S3, S4 = (((x - c) ** k).sum() for k in (2, 3, 4))
    d = [p - c for p in parts]
    change = [(p**4).sum() / S4 - 2 * (p**2).sum() / S2 + len(p) / N - 4 * S3 / S4 * p.sum() / N for p in d]
    return math.log(N * S4 / (3 * S2**2)), math.sqrt(sum(e * e for e in change))


def check_interval(parts, lo, hi, resamples=1000):
    """(log kappa - log of an end)/error must be 2.5 % quantiles of the same ratio over resamples of sequences: the share of other
    resamples beyond them differs by at most 5 standard errors of two samples of 1000."""
    value, error = log_kappa(parts)
    draws = [log_kappa([parts[i] for i in RNG.integers(len(parts), size=len(parts))]) for _ in range(resamples)]
    t = np.array([(v - value) / e for v, e in draws])
    most = 5 * math.sqrt(0.025 * 0.975 * 2 / resamples)
    assert abs(np.mean(t < (value - math.log(hi)) / error) - 0.025) <= most
    assert abs(np.mean(t > (value - math.log(lo)) / error) - 0.025) <= most


def log_gamma(x):
    return math.lgamma(x)


def digamma(x):
    shift = 0.0
    while x < 30:
        shift, x = shift - 1 / x, x + 1
    return shift + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)


def spacing_entropy(x):
    """Distinct values stand at the middle of the places of their repeats; docs/theory.md, "information"."""
    x, n = np.sort(x), len(x)
    new = np.append(True, np.diff(x) > 8 * np.finfo(float).eps * np.abs(x).max())
    place = np.flatnonzero(new)
    count = np.diff(np.append(place, n))
    repeats, value, middle = (count**2).sum() / n, x[new], place + count / 2
    effective = n / repeats
    m = min(math.ceil(int(effective) ** 0.25), (int(effective) - 1) // 2)
    lo = np.maximum(np.searchsorted(middle, middle - m * repeats, "right") - 1, 0)
    hi = np.minimum(np.searchsorted(middle, middle + m * repeats, "left"), len(middle) - 1)
    mass = middle[hi] - middle[lo]
    terms = np.log(value[hi] - value[lo]) - np.array([digamma(g) - math.log(g) for g in mass / repeats]) - np.log(mass / n)
    return (count * terms).sum() / n + digamma(effective + 1) - math.log(effective)


def law_negentropy(log_density, log_sd):
    """-h by the trapezoidal rule over t = log |x|, and the Gaussian's entropy."""
    t = log_sd + np.linspace(-60, 60, 60001)
    step, f = t[1] - t[0], np.exp(log_density(t))
    mass = 2 * step * (f * np.exp(t)).sum()
    h = -2 * step * (f * np.exp(t) * np.where(f > 0, log_density(t), 0)).sum() / mass + math.log(mass)
    return 0.5 * math.log(2 * math.pi * math.e) + log_sd - h


def power_kappa(b):
    return math.exp(log_gamma(5 / b) + log_gamma(1 / b) - 2 * log_gamma(3 / b)) / 3


def check_law(row):
    kappa = float(row["kappa"])
    if row["kind"] == "student":
        nu = 4 + 2 / (kappa - 1)
        expected = law_negentropy(lambda t: -(nu + 1) / 2 * np.log1p(np.exp(np.minimum(2 * t, 700)) / nu), 0.5 * math.log(nu / (nu - 2)))
    else:
        lo, hi = 0.2, 2.5
        for _ in range(80):
            lo, hi = ((lo + hi) / 2, hi) if power_kappa((lo + hi) / 2) > kappa else (lo, (lo + hi) / 2)
        expected = law_negentropy(lambda t: -np.exp(np.minimum(lo * t, 700)), 0.5 * (log_gamma(3 / lo) - log_gamma(1 / lo)))
    near(row["negentropy"], expected, 1e-9)  # the mass beyond e^60, and rounding of 6e4 terms
    near(row["expansion"], 3 / 16 * (kappa - 1) ** 2)


def information(case):
    rows = case.table("information")
    for row in rows:
        if row["kind"] != "scores":
            if case.name == sys.argv[1]:  # the same rows for every model
                check_law(row)
            continue
        x = np.concatenate(case.entries(*place(row)))  # fewer than the sample holds: every score
        kappa, skewness = moments(x)
        negentropy = 0.5 * math.log(2 * math.pi * math.e * x.var()) - spacing_entropy(x)
        assert int(row["n"]) == len(x)
        near(row["kappa"], kappa)
        near(row["skewness"], skewness)
        near(row["negentropy"], negentropy, 1e-6)  # the smallest spacings are differences of nearly equal scores
        near(row["expansion"], skewness**2 / 12 + 3 / 16 * (kappa - 1) ** 2)
    assert sum(row["kind"] == "scores" for row in rows) == case.model.N * case.model.L * case.model.H


# --- weights ------------------------------------------------------------------------------------------------------------


def describe(case):
    m, c = case.model, case.model.c
    rows = {(row["quantity"], row["level"]): row["value"] for row in case.table("describe")}
    assert int(rows["parameters", "NA"]) == sum(t.size for t in m.t.values())
    T, d, count = 37, m.d, {}
    lengths = [math.ceil(T / m.s**level) for level in range(m.L)]
    pairs = [n * (n + 1) // 2 if c["causal"] else n * n for n in lengths]
    valued = 1 if c["fusion"] == "score" else m.L
    for level in range(m.L):
        assert int(rows["tokens", str(level)]) == lengths[level]
        assert int(rows["parameters", str(level)]) == sum(t.size for name, t in m.t.items() if f".level.{level}." in name)
    count["scores"] = m.N * d * sum(pairs)
    count["values"] = m.N * d * sum(pairs[:valued])
    count["projections"] = m.N * d * d * (T + 2 * sum(lengths) + sum(lengths[:valued]))
    count["downsampling"] = m.N * d * m.s * sum(lengths[1:])
    count["convolution"] = m.N * d * c["conv_width"] * sum(lengths[:valued]) if c["hybrid"] else 0
    count["feed-forward"] = m.N * 2 * c["ffn_mult"] * d * d * T
    count["head"] = c["classes"] * d
    for name, n in count.items():
        assert int(rows["cost " + name, "NA"]) == n, name
    assert int(rows["cost", "NA"]) == sum(count.values())
    assert int(rows["cost of a training step", "NA"]) == 3 * sum(count.values())


def gates(case):
    m = case.model
    for row in case.table("gates"):
        layer, level = int(row["layer"]), int(row["level"])
        if row["quantity"] == "lambda":
            near(row["value"], m.weights(layer)[level])
        elif row["quantity"] == "beta":
            near(row["value"], m.share(layer, level, int(row["head"])))
        elif m.c["fusion"] == "dynamic" and m.L > 1:
            alpha = np.array([tap[layer]["alpha"][level] for _, tap in case.taps])
            for name, value in (("value", alpha.mean()), ("sd", alpha.std()), ("lo", alpha.min()), ("hi", alpha.max())):
                near(row[name], value)
        else:
            assert row["status"].startswith("skipped: ") and row["value"] == "NA"


def outlying(norms):
    return norms[norms > norms.mean() + 2 * norms.std()].sum()


def asymmetry(case):
    m, d = case.model, case.model.d
    for row in case.table("asymmetry"):
        layer, level, head = place(row)
        M = m.form(layer, level, head)
        A, size = (M - M.T) / 2, (M**2).sum()
        rows, columns = outlying(np.sqrt((M**2).sum(axis=1))), outlying(np.sqrt((M**2).sum(axis=0)))
        value = {
            "norm": lambda: math.sqrt(size),
            "antisymmetric": lambda: (A**2).sum() / size,
            "symmetric": lambda: 1 - (A**2).sum() / size,
            "symmetry": lambda: np.trace(M @ M) / size,
            "directionality": lambda: (columns - rows) / (columns + rows) if columns + rows > 0 else 0,
            "cosine": lambda: cosine(A, m.form(layer, int(row["other"]), head)),
        }[row["quantity"]]()
        near(row["value"], value)
        if row["quantity"] == "antisymmetric":
            near(row["expected"], (1 - 1 / d) / 2)
            if layer == 1 and head == 0:
                check_random(M, float(row["expected"]), float(row["sd"]))


def cosine(A, other):
    B = (other - other.T) / 2
    return (A * B).sum() / math.sqrt((A**2).sum() * (B**2).sum())


def check_random(M, expected, sd, n=1500):
    """Forms with the singular values of M and random singular vectors: mean and standard deviation of the share, within 5
    standard errors (of the standard deviation: for a law of kurtosis at most 4)."""
    s, d = np.linalg.svd(M, compute_uv=False), len(M)
    share = []
    for _ in range(n):
        q, r = np.linalg.qr(RNG.normal(size=(d, d)))
        R = (q * np.sign(np.diag(r))) * s
        share.append((((R - R.T) / 2) ** 2).sum() / (R**2).sum())
    near(np.mean(share), expected, 5 / math.sqrt(n), sd)
    near(np.std(share), sd, 5 * math.sqrt(0.75 / n), sd)


def gram(m, tap, layer, level, head, T):
    if level != "NA":
        M = m.form(layer, int(level), head)
        x = m.upsample(int(level), tap[layer]["x"][int(level)], T)
        return x @ (M + M.T) / 2 @ x.T
    return sum(m.weights(layer)[k] * gram(m, tap, layer, k, head, T) for k in range(m.L))


def spectra(m, tap, T):
    """{(kind, layer, level, head): eigenvalues of the dense matrix}."""
    out = {}
    for layer in range(m.N):
        for head in range(m.H):
            for level in [*map(str, range(m.L)), "NA"]:
                out["gram", str(layer), level, str(head)] = np.linalg.eigvalsh(gram(m, tap, layer, level, head, T))
                if level != "NA":
                    M = m.form(layer, int(level), head)
                    out["form", str(layer), level, str(head)] = np.linalg.eigvalsh((M + M.T) / 2)
    return out


def key(row):
    return row["kind"], row["layer"], row["level"], row["head"]


def spectrum(case):
    T = len(case.data[0][0])
    expected, found = spectra(case.model, case.taps[0][1], T), {}
    for row in case.table("spectrum"):
        found.setdefault(key(row), []).append(row)
    assert found.keys() == expected.keys()
    for k, w in expected.items():
        tol = 100 * len(w) * EPS * abs(w).max()  # both solvers: n eps of the largest
        values = np.array([float(row["eigenvalue"]) for row in found[k]])
        listed, dense = values[abs(values) > tol], w[abs(w) > tol]
        assert len(listed) == len(dense) and (np.diff(values) >= 0).all()
        assert abs(np.sort(listed) - dense).max(initial=0) <= tol
        assert sum(row["sign"] == "positive" for row in found[k]) == (dense > 0).sum()
        assert sum(row["sign"] == "negative" for row in found[k]) == (dense < 0).sum()


def inertia(case):
    T = len(case.data[0][0])
    trained = spectra(case.model, case.taps[0][1], T)
    fresh = spectra(case.first, case.first.forward(case.data[0][0])[1], T)
    for row in case.table("inertia"):
        w, f = trained[key(row)], fresh[key(row)]
        tol = 100 * len(w) * EPS * abs(w).max()
        assert int(row["positive"]) == (w > tol).sum() and int(row["negative"]) == (w < -tol).sum()
        assert int(row["positive"]) + int(row["negative"]) + int(row["zero"]) == int(row["n"])
        near(row["negative_mass"], -w[w < 0].sum() / abs(w).sum())
        near(row["stable_rank"], (w**2).sum() / (w**2).max())
        # The checkpoint of the first weights is float32, the table's fresh ones are not.
        near(row["negative_mass_random"], -f[f < 0].sum() / abs(f).sum(), 1e-5)
        near(row["stable_rank_random"], (f**2).sum() / (f**2).max(), 1e-5)


def cost(case):
    m, c = case.model, case.model.c
    for row in case.table("cost"):
        T, L = int(row["tokens"]), int(row["levels"])
        lengths = [math.ceil(T / m.s**level) for level in range(L)]
        pair = lambda n: n * (n + 1) // 2 if c["causal"] else n * n
        valued = lengths[:1] if c["fusion"] == "score" else lengths

        def attention(rows, values, hybrid):
            n = m.d * m.d * (T + 2 * sum(rows) + sum(values)) + m.d * (sum(map(pair, rows)) + sum(map(pair, values)))
            return n + (m.d * (m.s * sum(rows[1:]) + c["conv_width"] * sum(values)) if hybrid else 0)

        whole, plain = attention(lengths, valued, c["hybrid"]), attention([T], [T], False)
        if not c["hybrid"]:
            whole += m.d * m.s * sum(lengths[1:])
        ffn = 2 * c["ffn_mult"] * m.d**2 * T
        ratio = {"pairs": sum(n * n for n in lengths) / T**2, "attention": whole / plain, "layer": (whole + ffn) / (plain + ffn)}
        near(row["ratio"], ratio[row["quantity"]], 8 * EPS)
        near(row["bound"], m.s**2 / (m.s**2 - 1), 2 * EPS)
        assert row["below_bound"] == ("yes" if float(row["ratio"]) < float(row["bound"]) else "no")


# --- signals ------------------------------------------------------------------------------------------------------------


def band_energies(signal, m):
    """signal [n, channels]: energy of each band, by the transform of every channel."""
    n = len(signal)
    power = (abs(np.fft.fft(signal, axis=0)) ** 2).sum(axis=1) / n
    energy = np.zeros(m.L)
    for k in range(n):
        w = 2 * min(k, n - k) / n  # over pi
        for b in range(m.L):
            lo, hi = (m.s ** -(b + 1.0) if b + 1 < m.L else -1), m.s**-float(b)
            if abs(w - hi) < 1e-12 and b > 0 or abs(w - lo) < 1e-12:
                energy[b] += power[k] / 2
            elif lo < w < hi or b == 0 and abs(w - hi) < 1e-12:
                energy[b] += power[k]
    return energy


def signal_of(kind, m, z, level, T):
    """Upsampled to T tokens: z of a level, or what it has beyond the next level's."""
    x = m.upsample(level, z[level], T)
    return x - m.upsample(level + 1, z[level + 1], T) if kind == "detail" and level + 1 < m.L else x


def noise_share(m, layer, kind, level):
    """Expected energies for white noise of 16 rows of the coarsest level: the signal is linear in it, so they are those of the
    columns of its matrix, summed; channel by channel."""
    T = 16 * m.s ** (m.L - 1)
    energy = np.zeros(m.L)
    for channel in range(m.d):
        z = [np.eye(T)]
        for k in range(1, m.L):
            a = m.at(layer, k, "down")[:, channel]
            out = np.zeros((-(-len(z[-1]) // m.s), T))
            for j in range(len(out)):
                for i in range(min(m.s, m.s * j + 1)):
                    out[j] += a[i] * z[-1][m.s * j - i]
            z.append(out)
        energy += band_energies(signal_of(kind, m, z, level, T), m)
    return energy / energy.sum()


def bands(case):
    m, rows = case.model, case.table("bands")
    if m.L == 1:
        assert not rows
        return
    whole = m.s ** (m.L - 1)
    share, noise = {}, {}
    for kind in ("raw", "detail", "output"):
        for layer in range(m.N):
            for level in range(m.L):
                if kind == "output" and m.c["fusion"] == "score":
                    continue
                energy = np.zeros(m.L)
                for tokens, (_, tap) in zip((t for t, _ in case.data), case.taps):
                    T = len(tokens)
                    if T // whole >= 2:
                        signal = signal_of(kind, m, tap[layer]["y" if kind == "output" else "x"], level, T)
                        energy += band_energies(signal[whole : T // whole * whole], m)
                share[kind, layer, level] = energy / energy.sum()
                noise[kind, layer, level] = noise_share(m, layer, kind, level) if kind != "output" else np.full(m.L, np.nan)
    for row in rows:
        layer, level = int(row["layer"]), int(row["level"])
        at = row["quantity"], layer, level
        if row["quantity"] == "response":
            w, h = math.pi * float(row["frequency"]), np.ones(m.d, complex)
            for k in range(1, level + 1):
                h = h * sum(m.at(layer, k, "down")[i] * np.exp(-1j * w * i * m.s ** (k - 1)) for i in range(m.s))
            near(row["value"], math.sqrt((abs(h) ** 2).mean()), 1e-7)  # near a zero of the response: sqrt(eps)
            n = m.s**level
            near(row["reference"], abs(sum(np.exp(-1j * w * i) for i in range(n))) / n, 1e-13)
        elif at not in share:
            assert row["value"] == "NA" and row["status"].startswith("skipped: ")
        else:
            near(row["value"], share[at][int(row["band"])])
            if row["quantity"] == "output":
                assert row["reference"] == "NA"
            else:
                near(row["reference"], noise[at][int(row["band"])])


# --- score matrices -----------------------------------------------------------------------------------------------------


def scores(case):
    m = case.model
    T = min(24, len(case.data[0][0]))
    tap = case.cut(m, T)
    for row in case.table("scores"):
        layer, head, i, j = (int(row[k]) for k in ("layer", "head", "i", "j"))
        s = tap[layer]["scores"]
        if row["level"] == "NA":
            factor = [m.s**k for k in range(m.L)]
            expected = sum(m.weights(layer)[k] * s[k][head][i // factor[k], j // factor[k]] for k in range(m.L))
        else:
            expected = s[int(row["level"])][head][i, j]
        near(row["score"], expected)
        assert row["mask"] == ("masked" if m.c["causal"] and j > i else "used")


def tail(s, rank):
    return math.sqrt((np.linalg.svd(s, compute_uv=False)[rank:] ** 2).sum())


def descend(m, target, bases, rank, sweeps=30):
    """Distance of the sum found by block coordinate descent from zero, coarsest level first: bases [T, n_l], orthonormal."""
    terms = [np.zeros_like(target) for _ in bases]
    for _ in range(sweeps):
        for k in reversed(range(len(bases))):
            rest = target - sum(t for i, t in enumerate(terms) if i != k)
            u, w, v = np.linalg.svd(bases[k].T @ rest @ bases[k])
            r = min(rank, len(w))
            terms[k] = bases[k] @ (u[:, :r] * w[:r]) @ v[:r] @ bases[k].T
    return np.linalg.norm(target - sum(terms))


def level_bases(m, T, L):
    out = []
    for level in range(L):
        u = m.upsample(level, np.eye(-(-T // m.s**level)), T)
        out.append(u / np.sqrt((u**2).sum(axis=0)))
    return out


def span(x):
    u, w, _ = np.linalg.svd(x, full_matrices=False)
    return u[:, w > max(x.shape) * EPS * w[0]]


def errors(case):
    m, other = case.model, Model("mha/best.safetensors")
    T = min(24, len(case.data[0][0]))
    tap, target_tap = case.cut(m, T), case.cut(other, T)
    for row in case.table("errors"):
        layer, head = int(row["layer"]), int(row["head"])
        target = sum(target_tap[layer]["scores"][0]) / other.H
        size = np.linalg.norm(target)
        model = sum(m.weights(layer)[k] * m.upsample_both(k, tap[layer]["scores"][k][head], T) for k in range(m.L))
        found = {k: float(row[k]) for k in ("total", "hierarchical", "downsampling", "optimisation", "given_inputs", "lower")}
        inputs = [span(m.upsample(k, tap[layer]["x"][k], T)) for k in range(m.L)]
        near(row["size"], size)
        near(found["total"], np.linalg.norm(target - model) / size)
        assert found["total"] <= (found["hierarchical"] + found["downsampling"] + found["optimisation"]) * (1 + REL)
        assert found["lower"] <= found["hierarchical"] * (1 + REL) <= found["given_inputs"] * (1 + REL) ** 2 <= found["total"] * (1 + REL) ** 3
        assert tail(target, m.p * m.L) / size <= found["hierarchical"] * (1 + REL) + REL
        if m.L > 1:  # no worse than a plain descent but for what 30 sweeps of less than 1e-6 each leave; both are local
            assert found["hierarchical"] <= descend(m, target, level_bases(m, T, m.L), m.p) / size + 3e-5
            assert found["given_inputs"] <= descend(m, target, inputs, m.p) / size + 3e-5
        else:  # in closed form (Eckart and Young)
            inner = inputs[0].T @ target @ inputs[0]
            best, inside = np.linalg.norm(target), np.linalg.svd(inner, compute_uv=False)[: m.p]
            near(found["hierarchical"], tail(target, m.p) / size, 1e-7)  # from squares: sqrt(eps)
            near(found["given_inputs"], math.sqrt(max(best**2 - (inside**2).sum(), 0)) / size, 1e-7)


def decay(case):
    m = case.model
    T = min(24, len(case.data[0][0]))
    tap, curves = case.cut(m, T), {}
    lag = abs(np.subtract.outer(np.arange(T), np.arange(T)))
    targets = {("exponential kernel", "NA"): np.exp(-8 * lag / T), ("power kernel", "NA"): 1 / (1 + lag)}
    for layer in range(m.N):
        targets["scores", str(layer)] = sum(tap[layer]["scores"][0]) / m.H
    for row in case.table("decay"):
        curves.setdefault((row["target"], row["layer"]), []).append(row)
    assert curves.keys() == targets.keys()
    for at, rows in curves.items():
        s, size = targets[at], np.linalg.norm(targets[at])
        error = [float(row["error"]) for row in rows]
        near(error[0], tail(s, 2) / size, 1e-7)  # from squares: sqrt(eps)
        for k, row in enumerate(rows):
            L = k + 1
            assert int(row["levels"]) == L and float(row["bound"]) <= error[k] * (1 + 1e-9) + REL
            assert tail(s, 2 * L) / size <= float(row["bound"]) * (1 + 1e-7) + REL
            assert k == 0 or error[k] <= error[k - 1] * (1 + REL)
            if L > 1 and at[0] != "scores":
                assert error[k] <= descend(m, s, level_bases(m, T, L), 2) / size + 3e-5
        if at[0] != "scores" and len(error) >= 6:  # the line through log E_L that the table's geometric law is
            slope, start = np.polyfit(np.arange(1, len(error) + 1), np.log(error), 1)
            for k, row in enumerate(rows):
                near(row["geometric"], math.exp(start + slope * (k + 1)), 1e-9)
                near(row["rho"], math.exp(slope), 1e-9)


# --- accuracy -----------------------------------------------------------------------------------------------------------


def evaluate(case, model, off=lambda part, layer, level, head: False):
    right, loss = [], []
    for tokens, label in case.data:
        logits, _ = model.forward(tokens, off)
        right.append(int(np.argmax(logits) == label))
        loss.append(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[label])
    return np.array(right), float(np.mean(loss))


def check_paired(row, before, after, names):
    value, lo, hi = (float(row[k]) for k in names)
    n, gained, lost = len(before), int((after > before).sum()), int((before > after).sum())
    change = (gained - lost) / n
    half = 1.959963984540054 * math.sqrt(max(gained + lost - n * change**2, 0)) / n
    near(value, change, 8 * EPS)
    near(lo, change - half, 1e-12)
    near(hi, change + half, 1e-12)
    few, both = min(gained, lost), gained + lost
    near(row["p"], min(1, 2 * sum(math.comb(both, k) for k in range(few + 1)) / 2**both), 1e-12)


def ablate(case):
    m = case.model
    whole, _ = evaluate(case, m)
    for row in case.table("ablate"):
        part, layer, level, head = row["part"], row["layer"], row["level"], row["head"]

        def off(what, n, k, h):
            matches = part in (what, "level")
            return matches and layer in ("NA", str(n)) and level in ("NA", str(k)) and head in ("NA", str(h))

        if row["status"] != "ok":
            assert m.c["fusion"] == "score" and int(level) > 0
            continue
        right, loss = evaluate(case, m, off if part != "none" else lambda *_: False)
        near(row["accuracy"], right.mean(), 4 * EPS)
        near(row["loss"], loss, 1e-4)  # float32
        n, k, z = len(right), int(right.sum()), 1.959963984540054
        centre, half = (k + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
        near(row["accuracy_lo"], centre - half, 1e-12)
        near(row["accuracy_hi"], centre + half, 1e-12)
        check_paired(row, whole, right, ("change", "change_lo", "change_hi"))


def compare(case):
    models = case.first, case.model
    taps = [[m.forward(tokens) for tokens, _ in case.data] for m in models]
    for row in case.table("compare"):
        near(row["difference"], float(row["second"]) - float(row["first"]), EPS)
        if row["quantity"] == "accuracy":
            right = [evaluate(case, m)[0] for m in models]
            for name, r in zip(("first", "second"), right):
                near(row[name], r.mean(), 4 * EPS)
            check_paired(row, *right, ("difference", "difference_lo", "difference_hi"))
            continue
        layer, level = int(row["layer"]), int(row["level"])
        for name, m, tap in zip(("first", "second"), models, taps):
            if row["quantity"] == "lambda":
                near(row[name], m.weights(layer)[level])
                continue
            head = int(row["head"])
            if row["quantity"] == "kappa":
                near(row[name], moments(np.concatenate(case.entries(layer, level, head, m, tap)))[0], 1e-9)
            elif row["quantity"] == "beta":
                near(row[name], m.share(layer, level, head))
            else:
                M = m.form(layer, level, head)
                near(row[name], (((M - M.T) / 2) ** 2).sum() / (M**2).sum())


CHECKS = [describe, kurtosis, spectrum, inertia, asymmetry, gates, bands, information, errors, decay, scores, ablate, cost, compare]


def wrong(case, check):
    """Control: the check must fail when the model is another one: its first weights, or for what depends on the shape alone, another
    shape."""
    other = Case(case.name)
    if check in (describe, cost):
        other.model.c["causal"] = not other.model.c["causal"]
    else:
        other.model = other.first
        other.taps = [other.model.forward(tokens) for tokens, _ in other.data]
    try:
        check(other)
    except AssertionError:
        return False
    return True


def main():
    number, failed = 0, False
    for name in sys.argv[1:]:
        case = Case(name)
        for check in CHECKS:
            number += 1
            try:
                check(case)
                print(f"ok {number} - {name}: {check.__name__}")
            except (AssertionError, KeyError, ValueError, IndexError) as e:
                failed = True
                print(f"not ok {number} - {name}: {check.__name__}\n#   {type(e).__name__}: {e}", flush=True)
    passed = [check.__name__ for check in CHECKS if wrong(Case(sys.argv[1]), check)]
    failed = failed or bool(passed)
    print(f"{'not ok' if passed else 'ok'} {number + 1} - control: no check accepts another model {' '.join(passed)}")
    print(f"1..{number + 1}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
