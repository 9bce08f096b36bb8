"""Pictures of numbers that the layers page draws itself, many in one message.

The same pictures as plotly's of `layer_strip`, described once: a page sends those of
all steps of a layer, its component draws the one that is looked at, and a file that is
taken away holds plotly's.

R rows, C columns.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertviz_core.figures.bars import BAR_COLOR, named_bars_figure
from bertviz_core.figures.color_scales import DIVERGING, SEQUENTIAL
from bertviz_core.figures.labels import plain_label
from bertviz_core.figures.layer_strip import color_range, strip_figure
from bertviz_core.figures.payload import pack


@dataclass(frozen=True, eq=False)
class NumberStrips:
    """Rows of numbers, a coloured cell each, see `layer_strip.strip_figure`."""

    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str] | None = None
    title: str = ""
    row_title: str = ""
    column_title: str = ""
    is_signed: bool = True
    starts: Sequence[int] | None = None
    limit: float | None = None

    def figure(self) -> go.Figure:
        return strip_figure(**vars(self))

    def _header(self) -> dict[str, Any]:
        low, high = color_range(self.values, self.is_signed, self.limit)
        names = self.columns
        return {
            "kind": "strips",
            "rows": [plain_label(name) for name in self.rows],
            "columns": None if names is None else [plain_label(name) for name in names],
            "starts": None if self.starts is None else list(self.starts),
            "title": self.title,
            "rowTitle": self.row_title,
            "columnTitle": self.column_title,
            "low": low,
            "high": high,
            "scale": "diverging" if self.is_signed else "sequential",
        }


@dataclass(frozen=True, eq=False)
class NamedBars:
    """A bar for each name, see `named_bars_figure`."""

    names: Sequence[str]
    values: np.ndarray
    title: str = ""

    def figure(self) -> go.Figure:
        return named_bars_figure(**vars(self))

    def _header(self) -> dict[str, Any]:
        names = [plain_label(name) for name in self.names]
        return {"kind": "bars", "rows": names, "title": self.title}


@dataclass(frozen=True, eq=False)
class TitledPicture:
    """A picture, and what is said of it."""

    drawing: NumberStrips | NamedBars  # what it shows
    title: str  # stands above it in a file of its own
    description: str  # for who cannot see it, plain text
    file_name: str  # of the file, without its ending


def pictures_payload(pictures: Mapping[str, TitledPicture]) -> bytes:
    """Packs up to 10,000 pictures for `showPicture` of assets/components/step.

    They are chosen by their names. The header's `key` differs where the bytes do.
    """
    header = {
        "pictures": {
            name: {
                **picture.drawing._header(),
                "name": picture.title,
                "description": picture.description,
                "file": picture.file_name,
            }
            for name, picture in pictures.items()
        },
        "scales": {"diverging": DIVERGING, "sequential": SEQUENTIAL},
        "barColor": BAR_COLOR,
    }
    arrays = {
        name: picture.drawing.values.astype(np.float32)
        for name, picture in pictures.items()
    }
    key = hashlib.sha256(pack(header, arrays)).hexdigest()[:16]
    return pack({**header, "key": key}, arrays)
