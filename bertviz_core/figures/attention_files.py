"""The script and the style of the attention component, as text.

Plain files without a build step: the parts of the script share one scope and are
joined in the order of `PARTS`.
"""

from __future__ import annotations

import functools
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "assets" / "components" / "attention"
PARTS = (
    "data",
    "colors",
    "canvas",
    "grid",
    "heatmap",
    "lines",
    "tables",
    "build",
    "keys",
    "attention",
)


@functools.cache
def component_script() -> str:
    """All parts of the script; `showAttention` is what it is used by."""
    return "\n".join(
        (_FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in PARTS
    )


@functools.cache
def component_style() -> str:
    """The style sheet; colours and fonts come from Streamlit's `--st-…` variables."""
    return (_FOLDER / "attention.css").read_text(encoding="utf-8")
