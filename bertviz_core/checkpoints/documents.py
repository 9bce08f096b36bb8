"""What people wrote of a checkpoint: under which licence it is, and whom it names."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CARD_FILE, NOTICE_FILE = "README.md", "NOTICE"
_MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Documents:
    """Texts that lie beside a checkpoint, "" for one that is absent.

    Args:
        card: in Markdown, with or without metadata.
        notice: who is to be named, and the licence.
    """

    card: str = ""
    notice: str = ""

    def metadata(self) -> dict[str, Any]:
        """The head of the card; empty where there is none, or none that is YAML.

        Source:
            Hugging Face hub, "Model cards", "Model card metadata".
        """
        import yaml
        from huggingface_hub.repocard import REGEX_YAML_BLOCK

        head = REGEX_YAML_BLOCK.match(self.card)
        # Anybody may have written it: what is not understood says nothing.
        with contextlib.suppress(yaml.YAMLError, ValueError):
            # That in Python takes seconds for brackets within brackets.
            found = yaml.load(head[2], yaml.CSafeLoader) if head else {}
            return found if isinstance(found, dict) else {}
        return {}


def read_documents(folder: Path) -> Documents:
    """Reads what there is; never an error, as a model opens without it.

    Args:
        folder: of the checkpoint.
    """
    return Documents(_text(folder / CARD_FILE), _text(folder / NOTICE_FILE))


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        if path.stat().st_size <= _MAX_BYTES:
            return path.read_text(encoding="utf-8")
    return ""
