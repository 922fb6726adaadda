"""Numbers in the documents are those of the committed tables: every piece of text below is made from a table and must be
in its document, line ends aside. Run by cli_docs.sh.   usage: docs_numbers.py SOURCE VERIFY_JSON"""
import csv
import json
import math
import sys

source, verify = sys.argv[1:3]
wrong = 0


def table(name):
    with open("%s/experiments/results/%s.tsv" % (source, name)) as f:
        return list(csv.DictReader(f, delimiter="\t"))


def text(name):
    with open("%s/%s" % (source, name)) as f:
        return " ".join(f.read().split())


documents = {name: text(name) for name in ["README.md", "docs/results.md", "docs/faq.md", "docs/theory.md"]}


def says(name, piece):
    global wrong
    there = " ".join(piece.split()) in documents[name]
    print("%s %s: %s" % ("ok" if there else "MISSING", name, piece))
    wrong += not there


def mean(x):
    return sum(x) / len(x)


def deviation(x):
    return math.sqrt(sum((v - mean(x)) ** 2 for v in x) / (len(x) - 1))


def median(x):
    x = sorted(x)
    return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2


T_975 = 0.95 * math.sqrt(2 / (1 - 0.95**2))  # Student's quantile for two degrees of freedom, in closed form


def interval(x):
    half = T_975 * deviation(x) / math.sqrt(len(x))
    return mean(x) - half, mean(x) + half


def number(v, digits=2):
    """Two digits, zero without a sign."""
    out = "%.*f" % (digits, v)
    return out[1:] if out.startswith("-") and float(out) == 0 else out


def signed(v, digits=2):
    out = number(v, digits)
    return out if out.startswith("-") or float(out) == 0 else "+" + out


def paired(x, digits=2):
    low, high = interval(x)
    return "%s [%s, %s]" % (signed(mean(x), digits), number(low, digits), number(high, digits))


runs = {(r["task"], r["model"], r["setting"], int(r["seed"])): r for r in table("runs")}
curves = {}
for r in table("curves"):  # the last row of each run stays
    curves[r["task"], r["model"], r["setting"], int(r["seed"])] = r
SEEDS = range(3)


def over_seeds(task, model, setting, column, scale=100):
    return [scale * float(runs[task, model, setting, s][column]) for s in SEEDS]


def spread(x):
    return "%.2f +- %.2f" % (mean(x), deviation(x))


# --- the table of accuracies: the protocol's rows by hkt-verify, ListOps by differences paired by seed
published = {}
with open(source + "/plots/published.tsv") as f:
    for line in f:
        cell = line.rstrip("\n").split("\t")
        published[tuple(cell[:2])] = cell
claim = json.load(open(verify))["claims"][0]
checks = {c["name"]: c["results"][0] for c in claim["checks"]}
compared = checks["hkt-over-mha"]["table"]
rows = {r[0]: dict(zip(compared["columns"], r)) for r in compared["rows"] if r[1] == "main"}
for task, name, title in [("cifar10", "CIFAR-10", "sequential CIFAR-10, T = 1024"), ("imdb", "IMDB", "IMDB characters, T = 1024")]:
    hkt, mha = (over_seeds(task, m, "main", "test_accuracy") for m in ("hkt", "mha"))
    r = rows[task]
    difference = "%s [%s, %s]" % (signed(r["gain"]), number(r["low"]), number(r["high"]))
    says("docs/results.md", "| %s | %s | %s | %s |" % (name, spread(hkt), spread(mha), difference))
    paper = ["%s +- %s" % (published[task, m][2], published[task, m][3]) for m in ("HKT (paper)", "MHA (paper)")]
    gain = "%.2f" % (float(published[task, "HKT (paper)"][2]) - float(published[task, "MHA (paper)"][2]))
    says("docs/results.md", "%s, %s, %s" % (*paper, gain))
    says("README.md", "%s, %s, %s" % (*(p.split()[0] for p in paper), gain))
    says("README.md", "| %s | %s | %s | %s |" % (title, spread(hkt), spread(mha), difference))
hkt, mha = (over_seeds("listops", m, "main", "test_accuracy") for m in ("hkt", "mha"))
says("docs/results.md", "| ListOps (earlier) | %s | %s | %s |" % (spread(hkt), spread(mha), paired([a - b for a, b in zip(hkt, mha)])))
twice = [mean(over_seeds("listops", m, "epochs-8", "test_accuracy")) for m in ("hkt", "mha")]
says("README.md", "(%.2f and %.2f)" % tuple(twice))

# --- ListOps without a part
for title, model, setting, base in [
    ("MHA, parameters of HKT", "mha", "matched", "main"),
    ("no convolution", "hkt", "no-conv", "main"),
    ("score fusion: one softmax over S^H", "hkt", "score", "main"),
    ("HKT started near MHA: lambda_0 = beta = 0.9 in the first weights", "hkt", "near-mha", "main"),
    ("static fusion", "hkt", "static", "main"),
    ("**HKT, three levels**", "hkt", "main", "main"),
    ("two levels", "hkt", "levels-2", "main"),
    ("one level", "hkt", "levels-1", "main"),
    ("fixed downsampling", "hkt", "fixed-down", "main"),
    ("four levels", "hkt", "levels-4", "main"),
    ("no attention", "hkt", "no-attention", "main"),
    ("*twice the epochs:* HKT, three levels", "hkt", "epochs-8", "epochs-8"),
]:
    val = over_seeds("listops", model, setting, "best_val_accuracy")
    test = over_seeds("listops", model, setting, "test_accuracy")
    other = over_seeds("listops", "mha", base, "test_accuracy")
    loss = [float(curves["listops", model, setting, s]["val_loss"]) - float(curves["listops", "mha", base, s]["val_loss"]) for s in SEEDS]
    train = mean([float(curves["listops", model, setting, s]["train_loss"]) for s in SEEDS])
    parameters = "{:,}".format(int(runs["listops", model, setting, 0]["parameters"]))
    says("docs/results.md", "| %s | %s | %s | %s | %s | %.3f | %s |" % (
        title, spread(val), spread(test), paired([a - b for a, b in zip(test, other)]), paired(loss, 3), train, parameters))

# --- the trained models
def between(x, digits):
    low, high = ("%.*f" % (digits, v) for v in (min(x), max(x)))
    return low if low == high else "%s to %s" % (low, high)


def values(rows, quantity, layer, level, **more):
    wanted = dict(more, layer=str(layer), level=str(level), quantity=quantity)
    return [float(r["value"]) for r in rows if all(r[k] == v for k, v in wanted.items())]


every, medians = [], {}
for task, name in [("listops", "ListOps"), ("cifar10", "CIFAR-10"), ("imdb", "IMDB")]:
    kurtosis, gates, bands, asymmetry, ablate = (table("%s-%s" % (task, t)) for t in ("kurtosis", "gates", "bands", "asymmetry", "ablate"))
    kappa = {(r["layer"], r["level"], r["head"]): float(r["kappa"]) for r in kurtosis if r["head"] != "NA"}
    every += kappa.values()
    medians[task] = median(kappa.values())
    for layer in range(2):
        for level in range(3):
            here = [v for (a, b, _), v in kappa.items() if (a, b) == (str(layer), str(level))]
            without = ""
            if layer == 0:
                part = [r for r in ablate if r["part"] == "level" and r["level"] == str(level)][0]
                without = "%+.1f%s " % (100 * float(part["change"]), "*" if float(part["p"]) < 0.01 else "")
            says("docs/results.md", "| %s| %d | %d | %s | %s | %.2f | %.2f | %s | %.2f | %s|" % (
                name + " " if layer == level == 0 else "", layer, level, between(here, 2),
                between(values(asymmetry, "antisymmetric", layer, level), 3), values(gates, "lambda", layer, level)[0],
                values(gates, "alpha", layer, level)[0], between(values(gates, "beta", layer, level), 2),
                values(bands, "detail", layer, level, band=str(level))[0], without))
says("docs/results.md", "heads have %.1f to %.1f (median %.2f on ListOps)" % (min(every), max(every), medians["listops"]))
says("docs/results.md", "kurtosis %.1f to %.1f, not 33" % (min(every), max(every)))
says("docs/faq.md", "%.2f in the recorded model" % medians["listops"])
says("README.md", "%.2f in the recorded run" % medians["listops"])
says("README.md", "have %.1f to %.1f" % (min(every), max(every)))

# --- the bands of the trained models, from their verdicts
def verdict(task, check):
    return [r for r in table(task + "-verify") if r["check"] == check][0]


details = [round(4 * float(verdict(t, "details-hidden")["measured"])) for t in ("listops", "cifar10", "imdb")]
says("README.md", "%d, %d and %d of 4 in the recorded runs" % tuple(details))
sys.exit(wrong > 0)
