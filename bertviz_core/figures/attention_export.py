"""Attention to take away: numbers as columns, a page as one file.

T tokens. Rows look, columns are looked at.
"""

import base64
import html
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertviz_core.figures.attention_payload import map_payload, view_payload
from bertviz_core.figures.attention_thumbnails import StrongestLinks
from bertviz_core.figures.attention_view import AttentionView, HeadMap
from bertviz_core.figures.component_files import component_script, component_style

Columns = dict[str, list[str] | list[int] | list[float]]

# The saved file may run its own script and style, and ask nobody for anything.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
_THEME = """
:root { --st-text-color: #0F1620; --st-background-color: #FFFFFF;
  --st-secondary-background-color: #F1F4F8; --st-primary-color: #1A64A4;
  --st-border-color: #C9D1DC; --st-font: system-ui, sans-serif;
  color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --st-text-color: #E8ECF2;
  --st-background-color: #12161D; --st-secondary-background-color: #1C232E;
  --st-primary-color: #4F95E6; --st-border-color: #3A4454;
  --st-chart-sequential-colors: #16202D,#174269,#2A6AA5,#6596CF,#D8E6F7;
  --st-chart-diverging-colors: #F3B27C,#B8712F,#553312,#1B344F,#3C78B4,#A1C5EE; } }
body { margin: 0 auto; padding: 16px; max-width: 1200px;
  background: var(--st-background-color); color: var(--st-text-color);
  font-family: var(--st-font); }
"""
_START = """
{
  const text = document.getElementById('payload').textContent
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  showAlone(document.getElementById('view'), bytes)
}
"""


def attention_html(
    view: AttentionView | HeadMap,
    title: str,
    language: str = "en",
    attention_probs: np.ndarray | None = None,
    description: str = "",
) -> bytes:
    """Writes the interactive component as one file that needs no network.

    Args:
        view: what it shows first, or a map, which is all there.
        title: of the page, the sentence for instance.
        attention_probs: float `[L, N, T, T]`, so that every head can be chosen in the
            file (13 MB for BERT-base and 128 tokens). Without it the shown head stays.
        description: what is shown, below the title; plain text.
    """
    payload = (
        map_payload(view)
        if isinstance(view, HeadMap)
        else view_payload(replace(view, held=None), attention_probs=attention_probs)
    )
    return component_html("attention", payload, title, language, description)


def component_html(
    component: str, payload: bytes, title: str, language: str, description: str = ""
) -> bytes:
    """Writes a component that has a `showAlone` as `attention_html` does."""
    text = base64.b64encode(payload).decode("ascii")
    name = html.escape(title)
    described = f"<p>{html.escape(description)}</p>" if description else ""
    parts = (
        f'<!doctype html><html lang="{html.escape(language)}"><head>',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}</title><style>{_THEME}{component_style(component)}</style></head>",
        f'<body><h1 style="font-size:1.25rem">{name}</h1>{described}',
        '<main id="view"></main>',
        f'<script type="text/plain" id="payload">{text}</script>',
        f"<script>{component_script(component)}{_START}</script></body></html>",
    )
    return "\n".join(parts).encode("utf-8")


def attention_columns(view: AttentionView, most: int | None = None) -> Columns:
    """The shown numbers as columns of a table, a row for each cell.

    Layers, heads and tokens count from 1, as on the screen: a token keeps its number
    in the text where filters leave others out, a word has that of its first token. A
    layer and a head are named where one is shown, filters where there are some.

    Args:
        view: its matrix.
        most: this many cells at most, the largest first; `None` gives all in order.
    """
    size = len(view.tokens)
    cells = np.arange(size**2) if most is None else _largest(view.matrix, most)
    (rows, columns), count = np.divmod(cells, size), len(cells)
    measured, numbers = view.measured, np.array(view.token_numbers) + 1
    table: Columns = {"shown": [view.name] * count}
    if measured.filters:
        table["filters"] = ["; ".join(measured.filters)] * count
    if measured.has_layer:
        table["layer"] = [view.layer + 1] * count
    if measured.has_head:
        table["head"] = [view.head + 1] * count
    return {
        **table,
        "from_number": numbers[rows].tolist(),
        "from": [view.tokens[row] for row in rows],
        "to_number": numbers[columns].tolist(),
        "to": [view.tokens[column] for column in columns],
        "unit": [measured.unit] * count,
        "value": view.matrix.ravel()[cells].tolist(),
    }


def _largest(values: np.ndarray, most: int) -> np.ndarray:
    """Which are largest, whatever their sign; of equals the first."""
    falling = -np.abs(values.ravel())
    last = min(most, falling.size) - 1  # to sort all would take most of the time
    near = np.flatnonzero(falling <= np.partition(falling, last)[last])
    return near[np.argsort(falling[near], kind="stable")][:most]


def grid_columns(view: AttentionView, links: Sequence[StrongestLinks]) -> Columns:
    """Where each token looks most in every head, a row for each token of each head.

    Of a difference, where it is largest, whatever its sign. Tokens are numbered as in
    `attention_columns`.
    """
    targets = np.stack([layer.targets[..., 0] for layer in links])  # [L, N, T]
    weights = np.stack([layer.weights[..., 0] for layer in links])
    numbers = np.array(view.token_numbers) + 1
    layers, heads, rows = (axis.ravel() for axis in np.indices(targets.shape))
    measured, words = view.measured, view.words
    table: Columns = {}
    if view.is_difference:
        unit = words["unit_difference"].format(unit=words["unit_weight"])
        table = {"shown": [measured.difference] * targets.size}
        table["unit"] = [unit] * targets.size
    if measured.filters:
        table["filters"] = ["; ".join(measured.filters)] * targets.size
    return {
        **table,
        "layer": (layers + 1).tolist(),
        "head": (heads + 1).tolist(),
        "from_number": numbers[rows].tolist(),
        "from": [view.tokens[row] for row in rows],
        "to_number": numbers[targets.ravel()].tolist(),
        "to": [view.tokens[column] for column in targets.ravel()],
        "value" if view.is_difference else "weight": weights.ravel().tolist(),
    }
