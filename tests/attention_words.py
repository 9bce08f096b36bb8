"""Texts of the attention component, as the pages give them to it."""

from __future__ import annotations

import json
from pathlib import Path

_LOCALES = Path(__file__).parents[1] / "assets" / "locales"


def component_words(language: str) -> dict[str, str]:
    """See `AttentionView.words`; "en" or "zh"."""
    view, app = (
        json.loads((_LOCALES / language / f"{name}.json").read_text("utf-8"))
        for name in ("attention_view", "app")
    )
    return {**view, "list_comma": app["list_comma"]}
