"""Stores queries and keys of a PyTorch model, as its attention multiplies them, in q.npy and k.npy; needs torch and numpy alone.
Then: hkt-analyze kurtosis --scores q.npy k.npy --mask causal"""
import numpy as np


class StoreScores:
    """with StoreScores(model, heads, queries, keys): model(x)    for as many forward passes over [sequences, tokens] as wanted.
    queries, keys: for every layer the name of the module that makes them, and the slice of its output: the two thirds of GPT-2's are
    ("h.0.attn.c_attn", slice(0, 768)) and ("h.0.attn.c_attn", slice(768, 1536)). key_heads: when heads share keys. Positions that turn
    queries and keys after the projections go into a map (docs/foreign.md)."""

    def __init__(self, model, heads, queries, keys, key_heads=None):
        self.sides = {"q.npy": (queries, heads), "k.npy": (keys, key_heads or heads)}
        self.seen = {name: [] for name, _ in queries + keys}
        self.hooks = [model.get_submodule(name).register_forward_hook(self.keeper(kept)) for name, kept in self.seen.items()]

    def keeper(self, kept):
        return lambda module, inputs, output: kept.append(output.detach().double().cpu().numpy())

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        for hook in self.hooks:
            hook.remove()
        for file, (names, heads) in self.sides.items() if error is None else ():
            x = np.stack([np.concatenate(self.seen[name])[..., part] for name, part in names])  # [layers, sequences, tokens, heads p]
            np.save(file, np.moveaxis(x.reshape(*x.shape[:3], heads, -1), 3, 2))
