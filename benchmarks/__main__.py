"""Runs the benchmarks: `python -m benchmarks [name ...]`, all of `NAMES` or some."""

import argparse
import datetime
import importlib
import os

from benchmarks.machine import describe_machine

NAMES = (
    "forward",
    "start",
    "load",
    "memory",
    "scoring",
    "pretrain",
    "finetune",
    "finetune_head",
    "finetune_estimate",
    "finetune_accuracy",
    "ablation",
    "gibbs",
    "attention_size",
    "attention_switch",
    "attention_filters",
    "attention_flow",
    "whole_model",
    "embeddings",
    "vocabulary_page",
    "layers",
)


def main() -> None:
    """Runs what the command line names, or all, and prints a table for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    names = parser.parse_args().names or NAMES
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    # Peers announce how they load; the tables are what counts.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    print(f"{datetime.date.today()}: {describe_machine()}\n")
    for name in names:
        table = importlib.import_module(f"benchmarks.{name}").measure()
        print(table.markdown(), flush=True)


if __name__ == "__main__":
    main()
