"""Opens a checkpoint, Google's own files included, and prints one attention head.

python examples/look_at_a_head.py FOLDER_OR_ZIP "The cat sat." LAYER HEAD
"""

import sys

from bertviz_core import Explorer

model, text = sys.argv[1], sys.argv[2]
layer, head = int(sys.argv[3]), int(sys.argv[4])  # from 0
trace = Explorer.open(model).trace(text)
tokens = trace.tokenized.tokens
for looking, row in zip(tokens, trace.attention[layer, head], strict=True):
    seen = int(row.argmax())
    print(f"{looking:>12} looks most at {tokens[seen]} ({row[seen]:.0%})")
