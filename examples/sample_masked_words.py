"""Draws the words of a text anew, one after the other, and prints each change.

python examples/sample_masked_words.py "The [MASK] sat on the [MASK]." STEPS
"""

import sys

from bertviz_core import Explorer
from bertviz_core.experiments.chain_results import GibbsSettings
from bertviz_core.experiments.gibbs import run_chain, start_chain

text, num_steps = sys.argv[1], int(sys.argv[2])
explorer = Explorer.open("bert-mini-en")
settings = GibbsSettings(temperature=1.0, top_k=20, seed=1)
run = run_chain(explorer, start_chain(explorer, text, settings), num_steps)
words = explorer.vocabulary
for place, old, new in zip(run.positions, run.old_ids, run.new_ids, strict=True):
    print(f"{place[0]:3}  {words[old[0]]} -> {words[new[0]]}")
print(" ".join(words[index] for index in run.end.input_ids[0]))
