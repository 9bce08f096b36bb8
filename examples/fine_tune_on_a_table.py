"""Trains a classifier on a CSV file, then asks it about a text.

python examples/fine_tune_on_a_table.py TABLE.csv OUT_FOLDER "A text."
"""

import sys

from bertviz_core import Explorer
from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.cli import main

table, out, text = sys.argv[1:]
options = ["--level", "head", "--epochs", "2", "--out", out]
main(["fine-tune", table, *options], standalone_mode=False)
explorer = Explorer.open(f"{out}/model.zip")
labels = explorer.info().labels
for label, share in zip(labels, softmax_rows(explorer.trace(text).class_logits)):
    print(f"{share:7.2%}  {label}")
