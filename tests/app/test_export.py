"""Files that a visitor takes away are harmless and whole, and made when asked for."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.config import get_config_options

from pages.shared import export
from pages.shared.export import figure_html, show_curves, table_csv
from tests.app.real_pages import run_function

ROOT = Path(__file__).parents[2]


def rows_of(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def test_a_cell_that_begins_like_a_formula_is_quoted():
    header, row = rows_of(table_csv({"=1+1": ["=1+1"]}))
    assert header == row == ["'=1+1"]


def test_the_tables_of_the_pages_offer_no_other_file():
    """Streamlit's own would hold formulas as they are."""
    config = ROOT / ".streamlit" / "config.toml"
    client = tomllib.loads(config.read_text("utf-8"))["client"]
    assert client["disableDataExport"] is True
    assert "client.disableDataExport" in get_config_options()


def test_numbers_and_other_text_stay_as_they_are():
    columns = {"token": ["the", "a,b", '"x"', "你"], "logit": [-1.5, 2, 0.25, -3]}
    columns["probability"] = np.array([0.5, 0.25, float("nan"), 1])
    data = table_csv(columns)
    assert data.startswith(b"\xef\xbb\xbf")  # tells Excel that it is UTF-8
    assert rows_of(data) == [
        ["token", "logit", "probability"],
        ["the", "-1.5", "0.5"],
        ["a,b", "2", "0.25"],
        ['"x"', "0.25", ""],
        ["你", "-3", "1.0"],
    ]


def test_columns_of_unequal_length_are_a_mistake():
    with pytest.raises(ValueError, match="shorter"):
        table_csv({"a": [1, 2], "b": [1]})


def test_a_saved_figure_loads_nothing_and_no_label_ends_its_script():
    figure = go.Figure(go.Bar(x=["</script><b>", "你"], y=[0.25, 0.75]))
    html = figure_html(figure, "a < b & c").decode("utf-8")
    markup = re.sub(r"<script[^>]*>.*?</script>", "", html, flags=re.DOTALL)
    assert "//" not in markup
    assert not re.search(r"<script[^>]*\ssrc=", html)
    assert "default-src 'none'" in html
    assert len(html) > 1_000_000
    assert "Plotly.newPlot" in html
    assert "<title>a &lt; b &amp; c</title>" in html
    assert "</script><b>" not in html


def page_of_a_figure(num_rows):
    """A page with one figure, as AppTest runs it: alone, with its own imports."""
    import plotly.graph_objects as go

    from pages.shared.export import show_figure
    from pages.shared.language import choose_language

    choose_language()
    columns = {"token": [f"w{i}" for i in range(num_rows)], "n": list(range(num_rows))}
    show_figure(go.Figure(), name="told", description="What it *says*", columns=columns)


@pytest.mark.parametrize(("num_rows", "is_cut"), [(3, False), (1200, True)])
def test_the_numbers_of_a_figure_are_a_table_that_is_made_when_opened(num_rows, is_cut):
    app = run_function(page_of_a_figure, num_rows)
    (tools,) = app.pills
    labels = [label.split()[-1] for label in tools.options]
    assert labels == ["Table", "Download", "Link"]
    assert not app.dataframe
    tools.set_value("table").run()
    (table,) = app.dataframe
    assert list(table.value["token"]) == [f"w{i}" for i in range(min(num_rows, 1000))]
    assert table.proto.placeholder == "–"  # of a cell without a number, in any language
    assert any("first 1,000 of 1,200" in c.value for c in app.caption) == is_cut


def test_curves_are_drawn_and_listed_by_the_texts_of_their_keys(monkeypatch):
    asked = []
    monkeypatch.setattr(
        export, "show_figure", lambda *a, **more: asked.append((a, more))
    )
    curve, share = np.array([0.5, 0.25]), np.array([1.0, 0.0])
    alone, both = {"embeddings.cosine": curve}, {"run 1": curve, "run 2": share}
    given = {"name": "x", "description": "y"}
    show_curves(alone, "embeddings.layer_axis", **given, more={"padding.share": share})
    show_curves(both, "epoch", [1, 2], "loss", **given, bounds=(0, 2))
    ((first,), more), ((second,), others) = asked
    assert list(first.data[0].x) == [0, 1]
    assert (first.layout.xaxis.title.text, first.layout.yaxis.title.text) == (
        "layer",
        "cosine",
    )
    assert list(more["columns"]) == ["layer", "cosine", "padding.share"]
    assert [line.name for line in second.data] == ["run 1", "run 2"]
    assert second.layout.yaxis.title.text == "loss"
    assert second.layout.yaxis.range == (0, 2)
    assert others["columns"] == {"epoch": [1, 2], **both}


def test_a_link_to_a_view_holds_every_value_of_a_choice():
    state = {"told_tools": "link"}
    app = run_function(page_of_a_figure, 3, state=state, hidden=["a b", "猫"])
    (link,) = app.code
    given = parse_qs(urlsplit(link.value).query)
    assert given == {"hidden": ["a b", "猫"]}
    assert app.get_by_key("told_tools").proto.wrap  # also in a column of a phone
