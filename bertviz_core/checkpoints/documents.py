"""What lies beside a checkpoint: its licence, whom it names, what it learned from."""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_core.trace import TrainedInputs

CARD_FILE, NOTICE_FILE, RECIPE_FILE = "README.md", "NOTICE", "recipe.json"
_MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Documents:
    """Texts that lie beside a checkpoint, "" for one that is absent."""

    card: str = ""  # in Markdown, with or without metadata
    notice: str = ""  # who is to be named, and the licence

    def metadata(self) -> dict[str, Any]:
        """The head of the card, its values as text: `no` is Norwegian.

        It is empty where there is none, or none that is YAML.

        Source: Hugging Face hub, "Model cards", "Model card metadata".
        """
        import yaml
        from huggingface_hub.repocard import REGEX_YAML_BLOCK

        head = REGEX_YAML_BLOCK.match(self.card)
        # Anybody may have written it: what is not understood says nothing.
        with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):
            # That in Python takes seconds for brackets within brackets.
            found = yaml.load(head[2], yaml.CBaseLoader) if head else {}
            return found if isinstance(found, dict) else {}
        return {}


def read_documents(folder: Path) -> Documents:
    """Reads what there is; never an error, as a model opens without it."""
    return Documents(_text(folder / CARD_FILE), _text(folder / NOTICE_FILE))


def read_trained_inputs(folder: Path) -> TrainedInputs:
    """Takes what the recipe of a bundle of `fine-tune` says of its texts.

    Any model may lie beside a file of that name, so what is not understood is left out
    and never an error: the model opens without it.
    """
    raw = {}
    with contextlib.suppress(ValueError, RecursionError):
        raw = _object(json.loads(_text(folder / RECIPE_FILE)))
    settings, data = (_object(raw.get(key)) for key in ("settings", "data"))
    has_pairs = raw.get("has_pairs")
    return TrainedInputs(
        max_tokens=_count(settings.get("max_tokens")),
        has_pairs=has_pairs if isinstance(has_pairs, bool) else None,
        text_column=_name(data.get("text_column")),
        pair_column=_name(data.get("pair_column")),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    # A text needs room for itself between [CLS] and [SEP].
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and value >= 3 else 0


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        if path.stat().st_size <= _MAX_BYTES:
            return path.read_text(encoding="utf-8")
    return ""
