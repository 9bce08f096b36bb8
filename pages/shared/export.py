"""Taking results away: tables as CSV, figures as one HTML file or a picture."""

from __future__ import annotations

import csv
import functools
import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

# Imported whole before plotly is used: it fails on a module that another visitor's
# thread has half imported. Every page that makes figures imports this module first.
import numpy as np
import pandas  # noqa: F401
import streamlit as st

from bertviz_core.cells import safe_cell
from bertviz_core.figures.lines import lines_figure
from bertviz_core.figures.upright_titles import set_titles_upright
from bertviz_core.figures.value_map import value_map_figure
from pages.shared.language import current_language, plain, spoken, t, title_of
from pages.shared.panel import Columns, Program, download, show_number_tools, show_tools
from pages.shared.replaced_words import is_projected

if TYPE_CHECKING:
    import plotly.graph_objects as go

# The saved file makes no network request, whatever a script in it may try.
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    'font-src data:">'
)

# Room above a figure for plotly's buttons, which appear under the pointer; pixels.
_TOOLBAR = 30
_PROJECTED_SIZE = 18  # of letters, in pixels; otherwise plotly's 12
# Plotly's words, and ours.
_SAID = {
    "Download plot as a PNG": "app.figure_download",
    "Download plot": "app.figure_download",
    "Zoom": "app.figure_zoom",
    "Pan": "app.figure_pan",
    "Box Select": "app.figure_box",
    "Lasso Select": "app.figure_lasso",
    "Zoom in": "app.figure_zoom_in",
    "Zoom out": "app.figure_zoom_out",
    "Autoscale": "app.figure_autoscale",
    "Reset axes": "app.figure_reset",
    "Preparing image - this may take a few seconds": "app.figure_preparing",
    "Image download succeeded": "app.figure_saved",
    "Sorry, there was a problem downloading your image!": "app.figure_not_saved",
    "Double-click to zoom back out": "app.figure_zoom_back",
    "Double-click on legend to isolate one trace": "app.figure_isolate",
}
MOST_ROWS = 1000  # of a table on a page; 512 tokens squared would be 262,144


def table_csv(columns: Columns) -> bytes:
    """Writes a table that a spreadsheet opens without running any of its cells.

    All columns are of one length. Text that begins like a formula gets a leading
    apostrophe. UTF-8 with a byte order mark, which Excel needs to read Chinese.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([_safe_cell(name) for name in columns])
    for row in zip(*map(_cells, columns.values()), strict=True):
        writer.writerow([_safe_cell(cell) for cell in row])
    return file.getvalue().encode("utf-8-sig")


def figure_html(figure: go.Figure, title: str) -> bytes:
    """Writes a figure as one file that needs no network, plotly included."""
    html = figure.to_html(include_plotlyjs=True, full_html=True, config=_config("svg"))
    safe_title = title.replace("&", "&amp;").replace("<", "&lt;")
    head = f"<head>{_POLICY}<title>{safe_title}</title>"
    return html.replace("<head>", head, 1).encode("utf-8")


def show_figure(
    figure: go.Figure,
    *,
    name: str,
    description: str,
    columns: Columns | Callable[[], Columns],
    code: Program | None = None,
    on_select: Callable[[], None] | None = None,
) -> None:
    """Draws a figure with its description in words, its numbers and its downloads.

    `name` is unique on the page and begins files and keys; the chart's own key, for
    `on_select`, is `name` with "_figure". `description` says it in words, as Markdown,
    `columns` hold the numbers behind it or make them when somebody wants them, `code`
    writes a program that gives them again.
    """
    image = st.session_state.get(f"{name}_image") or "svg"
    set_titles_upright(figure)
    _leave_room_above(figure)
    if is_projected():
        figure.update_layout(font_size=_PROJECTED_SIZE)
    st.plotly_chart(
        figure,
        key=f"{name}_figure",
        config=_config(image, name),
        alt=spoken(description),
        on_select=on_select or "ignore",
        selection_mode="points",
    )
    show_below(
        name=name,
        description=description,
        columns=columns if callable(columns) else lambda: columns,
        html=lambda: figure_html(figure, name),
        code=code,
        also=functools.partial(_choose_image_format, f"{name}_image"),
    )


def show_curves(
    curves: Columns,
    over: str,
    places: Sequence[str] | Sequence[int] = (),
    title: str = "",
    *,
    name: str,
    description: str,
    more: Columns | None = None,
    code: Program | None = None,
    **how: Any,
) -> None:
    """Draws curves, float `[M]` by what each is called, `over` places.

    Names are texts or keys. Without `places` these are the numbers from 0. `title` is
    what the numbers are; a single curve says that itself. The table has `more` columns,
    `how` goes to `lines_figure`; for all else see `show_figure`.
    """
    named, over = titled(curves), title_of(over)
    places = places or range(len(next(iter(named.values()))))
    alone = next(iter(named)) if len(named) == 1 else ""
    show_figure(
        lines_figure(
            named, places, x_title=over, y_title=title_of(title) or alone, **how
        ),
        name=name,
        description=description,
        columns={over: places, **named, **(more or {})},
        code=code,
    )


def show_below(
    *,
    name: str,
    description: str,
    columns: Callable[[], Columns],
    html: Callable[[], bytes],
    code: Program | None = None,
    also: Callable[[], None] | None = None,
) -> None:
    """Draws what stands below a picture: its description, and a row of tools.

    `columns` and `html`, the picture as a file, are called when somebody wants them;
    see `show_figure`. `also` draws what stands below the downloads.
    """

    def download_picture() -> None:
        download(
            "app.download_html",
            html,
            plain("app.html_file", name=name),
            "text/html",
            f"{name}_html",
        )
        if also is not None:
            also()

    st.caption(description)
    show_number_tools(name, columns, spoken(description), code, download_picture)


def show_map(
    name: str,
    values: np.ndarray,
    rows: Sequence[Any],
    columns: Sequence[Any],
    titles: tuple[str, str, str],
    description: str,
    *,
    most: int | None = None,
    table: Columns | None = None,
    code: Program | None = None,
    **drawn: Any,
) -> None:
    """Draws a map of numbers, float or bool `[R, C]`, with a table of its cells.

    Bools are drawn in two colours, without a scale. `titles` are what a number, a row
    and a column is called, texts or keys. At most `most` rows and columns are drawn,
    the table has all; `table` is another one. What is `drawn` goes to
    `value_map_figure`, the rest to `show_figure`.
    """
    title, row_title, column_title = map(title_of, titles)
    show_figure(
        value_map_figure(
            values[:most, :most].astype(float),
            list(map(str, rows[:most])),
            list(map(str, columns[:most])),
            title=title,
            row_title=row_title,
            column_title=column_title,
            **{"is_signed": False, "has_scale": values.dtype != bool, **drawn},
        ),
        name=name,
        description=description,
        columns=table or functools.partial(cell_columns, values, rows, columns, titles),
        code=code,
    )


def cell_columns(
    values: np.ndarray,
    rows: Sequence[Any],
    columns: Sequence[Any],
    titles: tuple[str, str, str],
) -> Columns:
    """A table with a row for each cell of a map: its row, its column, its number.

    512 tokens have 262,144 pairs: call it when somebody wants them. A bool is 0 or 1;
    for the arguments see `show_map`.
    """
    title, row_title, column_title = titles
    return {
        row_title: [row for row in rows for _ in columns],
        column_title: [*columns] * len(rows),
        title: (values.astype(int) if values.dtype == bool else values).ravel(),
    }


def show_first_rows(columns: Columns, told: str, total: int | None = None) -> None:
    """The numbers behind a figure as a table, for screen readers too.

    `total` is the number of rows where `columns` hold the first ones alone.
    """
    cells = {name: columns[name] for name in columns}
    total = total or max(map(len, cells.values()), default=0)
    show_table({name: rows[:MOST_ROWS] for name, rows in cells.items()}, told)
    if total > MOST_ROWS:
        st.caption(t("app.table_is_cut", count=MOST_ROWS, total=total))


def _choose_image_format(key: str) -> None:
    st.segmented_control(
        t("app.image_format"),
        ["svg", "png"],
        default="svg",
        required=True,
        key=key,
        help=t("app.image_help"),
        format_func=str.upper,
        persist_state="session",
    )


def download_csv(columns: Columns, name: str) -> None:
    """Draws the button that saves a table; the file is made when it is clicked."""
    download(
        "app.download_csv",
        lambda: table_csv(titled(columns)),
        plain("app.csv_file", name=name),
        "text/csv",
        f"{name}_csv",
    )


def show_table(
    columns: Columns,
    told: str,
    name: str = "",
    caption: str = "",
    hide_index: bool = True,
    **how: Any,
) -> None:
    """Draws a table, a caption below it and, with a name, its row of tools.

    `told` is what a screen reader says of it, `how` goes to Streamlit.
    """
    shown = {title: _cells(cells) for title, cells in titled(columns).items()}
    how |= {"alt": told, "hide_index": hide_index, "placeholder": "–"}
    st.dataframe(shown, **how)
    if caption:
        st.caption(caption)
    if name:
        show_tools(name, download=lambda: download_csv(columns, name))


def titled(columns: Columns) -> dict[str, Any]:
    """The same by the texts that are their names."""
    return {title_of(name): columns[name] for name in columns}


def _cells(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _safe_cell(cell: Any) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return None  # a cell without a number is empty, as on the page
    return safe_cell(cell) if isinstance(cell, str) else cell


def _leave_room_above(figure: go.Figure) -> None:
    """So that no button of plotly lies on what a figure shows."""
    made = figure.layout
    room = max(0, _TOOLBAR - (made.margin.t or 0))
    if made.title.text:  # which on a phone is as wide as the figure
        room = _TOOLBAR
        below = {"yref": "container", "y": 1, "yanchor": "top", "pad": {"t": _TOOLBAR}}
        made.title.update(below)
    made.height = (made.height or 450) + room  # 450 is plotly's own
    made.margin.t = (made.margin.t or 0) + room


def _config(image: str, name: str = "figure") -> dict[str, Any]:
    language = current_language()
    words = {said: plain(key) for said, key in _SAID.items()}
    # plotly's camera button saves in the browser; nothing is sent anywhere.
    return {
        "locale": language,
        "locales": {language: {"dictionary": words}},
        "displaylogo": False,
        "plotlyServerURL": "",
        "toImageButtonOptions": {"format": image, "filename": name, "scale": 2},
    }
