"""Texts of the app, as its pages give them to what they draw."""

from __future__ import annotations

import json
from pathlib import Path

_LOCALES = Path(__file__).parents[1] / "assets" / "locales"


def words_of(name: str, language: str = "en") -> dict[str, str]:
    """Those of a file; "en" or "zh"."""
    path = _LOCALES / language / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def component_words(language: str) -> dict[str, str]:
    """See `AttentionView.words`."""
    comma = words_of("app", language)["list_comma"]
    return {**words_of("attention_view", language), "list_comma": comma}
