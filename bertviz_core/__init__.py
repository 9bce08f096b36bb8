"""BERT Explorer's core: a readable Keras BERT and what can be seen in it.

Importing this package loads nothing heavy: neither Keras nor a model. The names
below are loaded on first use.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME_OF = {
    "BertConfig": "bertviz_core.config",
    "BertTokenizer": "bertviz_core.tokenizer",
    "BertVizError": "bertviz_core.errors",
    "Explorer": "bertviz_core.explorer",
    "Interventions": "bertviz_core.interventions",
    "Trace": "bertviz_core.trace",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bertviz_core' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)
