"""A small GPT of its own in PyTorch (fused queries, keys and values; and one with grouped keys), whose queries and keys
docs/examples/store_scores.py stores. The scores of its attention itself go into own.npy. usage: torch_scores.py EXAMPLES"""
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np
import torch
from store_scores import StoreScores

LAYERS, D, HEADS, KEY_HEADS, P, T = 2, 24, 4, 2, 6, 30


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fused, self.out = torch.nn.LayerNorm(D), torch.nn.Linear(D, (HEADS + 2 * KEY_HEADS) * P), torch.nn.Linear(D, D)
        self.scores = []

    def forward(self, x):
        q, k, v = self.fused(self.norm(x)).split([HEADS * P, KEY_HEADS * P, KEY_HEADS * P], dim=-1)
        rows = lambda y, n: y.view(len(x), T, n, P).transpose(1, 2).repeat_interleave(HEADS // n, dim=1)
        s = rows(q, HEADS) @ rows(k, KEY_HEADS).transpose(2, 3) / P**0.5
        self.scores.append(s.detach().numpy())
        s = s.masked_fill(torch.ones(T, T).triu(1) > 0, -torch.inf)
        return x + self.out((s.softmax(dim=-1) @ rows(v, KEY_HEADS)).transpose(1, 2).reshape(len(x), T, D))


torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Embedding(50, D), *[Block() for _ in range(LAYERS)]).double()
place = lambda begin, end: [(f"{i + 1}.fused", slice(begin * P, end * P)) for i in range(LAYERS)]
with StoreScores(model, HEADS, place(0, HEADS), place(HEADS, HEADS + KEY_HEADS), key_heads=KEY_HEADS), torch.no_grad():
    for _ in range(3):
        model(torch.randint(50, (8, T)))
assert not any(m._forward_hooks for m in model.modules())
np.save("own.npy", np.stack([np.concatenate(block.scores) for block in model[1:]]))
