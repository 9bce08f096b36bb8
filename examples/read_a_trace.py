"""Reads what `python -m bertviz_core trace --text … --out FILE` has written.

python examples/read_a_trace.py FILE.npz
"""

import sys

import numpy as np

with np.load(sys.argv[1]) as trace:
    for name in trace.files:
        print(f"{name:16} {trace[name].dtype} {trace[name].shape}")
    states = trace["hidden_states"][0].astype(float)  # [L + 1, T, H]
lengths = np.linalg.norm(states, axis=-1).mean(axis=-1)
print("mean length of a vector after each layer:", lengths.round(2))
