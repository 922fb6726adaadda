#!/usr/bin/env python3
"""Makes the text goldens next to this file from safetensors files of an independent implementation (docs/model.md 2.2).

usage: python3 tests/golden/make.py DIR      reads DIR/*.safetensors, writes NAME.txt beside this script

A text golden is a sequence of words separated by white space, after comment lines that start with '#':

    config JSON                      the metadata hkt.config
    param NAME COUNT x ...           a parameter tensor, row-major
    lengths B n ...   labels B y ...   tokens COUNT t ...     the input, packed without padding
    logits COUNT x ...   loss 1 x
    digest NAME COUNT MAX S1 ... S8  a gradient (grad.PARAMETER) or a tap of the first sequence
    end

Numbers are the shortest decimals that give back the same binary64. A digest pins every entry of a tensor: MAX = max |x_i|,
S_k = sum_i sign_k(i) x_i. sign_k: state = k; before each entry state = 6364136223846793005 state + 1442695040888963407
mod 2^64; the sign is -1 when the top bit of the state is set, else +1. Sums are exact before the last rounding.
"""
import json
import math
import pathlib
import struct
import sys

SIGNS = 8


def read(path):
    """Returns (metadata, {name: (shape, values)}) of a safetensors file of F64 and I32 tensors."""
    raw = path.read_bytes()
    (n,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8:8 + n])
    meta = header.pop("__metadata__")
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        code, size = {"F64": ("d", 8), "I32": ("i", 4)}[t["dtype"]]
        tensors[name] = t["shape"], struct.unpack_from(f"<{(end - begin) // size}{code}", raw, 8 + n + begin)
    return meta, tensors


def signs(k, n):
    state = k
    for _ in range(n):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield -1.0 if state >> 63 else 1.0


def digest(values):
    sums = [math.fsum(s * x for s, x in zip(signs(k, len(values)), values)) for k in range(1, SIGNS + 1)]
    return [max(abs(x) for x in values)] + sums


def words(out, head, values, per_line=8):
    out.append(head)
    for i in range(0, len(values), per_line):
        out.append(" ".join(repr(v) for v in values[i:i + per_line]))


def convert(path):
    meta, tensors = read(path)
    out = [f"# made by make.py from {path.name}; the format is described there", "config " + meta["hkt.config"]]
    for name, (_, values) in tensors.items():
        if not name.startswith(("grad.", "tap.", "input.", "output.")):
            words(out, f"param {name} {len(values)}", values)
    lengths = tensors["input.lengths"][1]
    (_, width), tokens = tensors["input.tokens"]
    packed = [tokens[b * width + i] for b, n in enumerate(lengths) for i in range(n)]
    words(out, f"lengths {len(lengths)}", lengths)
    words(out, f"labels {len(lengths)}", tensors["input.labels"][1])
    words(out, f"tokens {len(packed)}", packed, 24)
    words(out, f"logits {len(tensors['output.logits'][1])}", tensors["output.logits"][1])
    words(out, "loss 1", tensors["output.loss"][1])
    for name, (_, values) in tensors.items():
        if name.startswith(("grad.", "tap.")):
            words(out, f"digest {name} {len(values)}", digest(values), SIGNS + 1)
    out.append("end")
    target = pathlib.Path(__file__).parent / (path.stem + ".txt")
    target.write_text("\n".join(out) + "\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.safetensors"))
    if not paths:
        sys.exit(f"make.py: {sys.argv[1]}: expected *.safetensors, found none")
    for path in paths:
        convert(path)


if __name__ == "__main__":
    main()
