"""Time and memory of hkt-analyze --model on a large model: 32 layers, 32 heads on 8 key heads, d 4096, p 128, BF16, in shards, with normal weights;
beside it numpy's eigvalsh of the d x d forms of a few heads, for all heads extrapolated. Needs numpy, and 1.4 GB for the model, which is removed.
usage: experiments/size.py [--bin build/bin] [--dir DIR] [--layers 32] [--heads-numpy 2]"""
import argparse
import json
import os
import shutil
import struct
import tempfile
import time

import numpy as np

D, HEADS, KEY_HEADS, P, SHARDS = 4096, 32, 8, 128, 4


def write_model(path, layers):
    """Layers share their normal numbers, rolled by a row: no two heads at the same place are equal."""
    rng, index = np.random.default_rng(1), {}
    q, k = ((rng.standard_normal(n * P * D, dtype=np.float32).view(np.uint32) >> 16).astype("<u2") for n in (HEADS, KEY_HEADS))
    for s in range(SHARDS):
        header, at, file = {}, 0, f"model-{s + 1:05d}-of-{SHARDS:05d}.safetensors"
        for layer in range(s, layers, SHARDS):
            for side, n in (("q", HEADS), ("k", KEY_HEADS)):
                name = f"model.layers.{layer}.self_attn.{side}_proj.weight"
                header[name] = {"dtype": "BF16", "shape": [n * P, D], "data_offsets": [at, at + 2 * n * P * D]}
                index[name], at = file, at + 2 * n * P * D
        text = json.dumps(header).encode()
        with open(f"{path}/{file}", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for layer in range(s, layers, SHARDS):
                np.roll(q, layer * D).tofile(f)
                np.roll(k, 3 * layer * D).tofile(f)
    with open(f"{path}/model.safetensors.index.json", "w") as f:
        json.dump({"weight_map": index}, f)
    with open(f"{path}/config.json", "w") as f:
        json.dump(dict(model_type="llama", num_hidden_layers=layers, num_attention_heads=HEADS, num_key_value_heads=KEY_HEADS, hidden_size=D, head_dim=P), f)
    return q, k


def run(command):
    """Seconds, processor seconds and GiB at most of a program that must end with 0."""
    start, pid = time.perf_counter(), os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, use = os.wait4(pid, 0)
    assert status == 0, command
    return time.perf_counter() - start, use.ru_utime + use.ru_stime, use.ru_maxrss / 2**20


def by_numpy(q, k, heads):
    """Seconds and processor seconds of eigvalsh of M_s of one head; the eigenvalues of head 0."""
    start, used = time.perf_counter(), time.process_time()
    for h in range(heads):
        rows = lambda x, i: (x.reshape(-1, P, D)[i].astype(np.uint32) << 16).view(np.float32).astype(float)
        m = rows(q, h).T @ rows(k, h // (HEADS // KEY_HEADS)) / P**0.5
        w = np.linalg.eigvalsh((m + m.T) / 2)
        first = w if h == 0 else first
    return (time.perf_counter() - start) / heads, (time.process_time() - used) / heads, first


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--bin", default="build/bin")
    args.add_argument("--dir")
    args.add_argument("--layers", type=int, default=32)
    args.add_argument("--heads-numpy", type=int, default=2)
    args = args.parse_args()
    path = tempfile.mkdtemp(dir=args.dir)
    try:
        q, k = write_model(path, args.layers)
        print("what\tseconds\tprocessor_seconds\tgib\theads")
        for what in ("inertia", "spectrum", "asymmetry"):
            seconds, used, gib = run([f"{args.bin}/hkt-analyze", what, "--model", path, "--out", f"{path}/{what}.tsv"])
            print(f"{what}\t{seconds:.1f}\t{used:.1f}\t{gib:.2f}\t{args.layers * HEADS}", flush=True)
        rows = [line.split("\t") for line in open(f"{path}/spectrum.tsv") if line[0] != "#"]
        found = np.sort([float(r[6]) for r in rows[1:] if r[:3] == ["weights", "0", "0"]])
        seconds, used, w = by_numpy(q, k, args.heads_numpy)
        w = np.sort(w[np.argsort(abs(w))[-2 * P :]])
        assert abs(found - w).max() <= 1e-12 * abs(w).max(), "not the eigenvalues that numpy has"
        print(f"numpy, one head\t{seconds:.1f}\t{used:.1f}\t-\t1")
        print(f"numpy, extrapolated\t{seconds * args.layers * HEADS:.0f}\t{used * args.layers * HEADS:.0f}\t-\t{args.layers * HEADS}")
    finally:
        shutil.rmtree(path)


if __name__ == "__main__":
    main()
