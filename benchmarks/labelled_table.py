"""A table of one's own on the command line of a benchmark, as rows with labels."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.training.finetune.dataset import Examples, TrainingData
from bertviz_core.training.finetune.request import SAMPLES
from bertviz_core.training.finetune.visitor_tables import table_path

SAMPLE = table_path(SAMPLES["library_en"])
SAMPLE_ARGUMENTS = (str(SAMPLE), "--text-column", "message", "--label-column", "topic")
_HELD_OUT = 0.2


def table_parser(description: str | None) -> argparse.ArgumentParser:
    """The options that say which table, and which model learns from it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("table", type=Path)
    parser.add_argument("--validation", type=Path, help="else a fifth is held out")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--label-column", default="label")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--rows", type=int, default=0, help="to learn from; 0: all")
    parser.add_argument("--max-tokens", type=int, default=128)
    return parser


def read_data(options: argparse.Namespace) -> TrainingData:
    """Reads the table that options of `table_parser` name, in an order of chance."""
    table = pd.read_csv(options.table).dropna()
    table = table.sample(frac=1.0, random_state=0)  # the same for every run
    if options.validation:
        held_out = pd.read_csv(options.validation).dropna()
    else:
        size = round(len(table) * _HELD_OUT)
        held_out, table = table[:size], table[size:]
    if options.rows:
        table = table[: options.rows]
    names = tuple(sorted({str(label) for label in table[options.label_column]}))
    judged = _examples(held_out, options, names)
    return TrainingData(_examples(table, options, names), judged, judged, names)


def _examples(
    table: pd.DataFrame, options: argparse.Namespace, names: Sequence[str]
) -> Examples:
    texts = tuple(table[options.text_column].astype(str))
    targets = [names.index(str(label)) for label in table[options.label_column]]
    return Examples(texts, None, np.array(targets, "int32"), np.arange(len(texts)))
