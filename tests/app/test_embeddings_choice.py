"""A choice on a map of points stays with its point, or is given up."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.analysis.labelled_lines import bundled_lines, read_lines
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import vocabulary
from pages.shared.engine import client
from tests.app.real_pages import finished, said
from tests.app.test_embeddings import bars, marks, open_page, sent

MAP, POINTS = "embeddings_map", "embeddings_points"


def choose(app: AppTest, key: str, **choice) -> AppTest:
    """Chooses on the map as the browser tells it."""
    first = sent(app)["first"] | {"labels": sent(app)["labelsId"]}
    app.session_state[key] = {"choice": first | choice}
    return finished(app.run())


def selected_in_address(app: AppTest, key: str) -> str | None:
    value = app.query_params.get(f"{key}_selected")
    return value[0] if isinstance(value, list) else value


def with_river_chosen() -> tuple[AppTest, int]:
    row = client().ask(vocabulary)(DEFAULT_MODEL).index("river")
    app = open_page(embeddings_panel="map", embeddings_map_method="pca")
    choose(app, MAP, search="riv", selected=row)
    assert "Nearest to river" in app.subheader[0].value
    return app, row


@pytest.mark.parametrize(
    ("widget", "value", "num_axes"),
    [("embeddings_map_axes", "3", 3), ("embeddings_map_method", "tsne", 2)],
)
def test_a_chosen_word_stays_chosen_where_the_points_move(widget, value, num_axes):
    app, row = with_river_chosen()
    before = sent(app)
    assert before["first"]["selected"] is None, "chosen on the map, not sent to it"
    app.get_by_key(widget).set_value(value).run()
    after = sent(finished(app))
    assert after["id"] != before["id"]
    assert after["numAxes"] == num_axes
    assert (after["first"]["selected"], after["first"]["search"]) == (row, "riv")
    assert "Nearest to river" in app.subheader[0].value
    assert marks(app)["of"] == row
    assert selected_in_address(app, MAP) == str(row)


def test_the_points_travel_once_while_one_chooses():
    app, row = with_river_chosen()
    once = app.get("bidi_component")[0].proto.bytes
    choose(app, MAP, search="riv", selected=row + 1)
    assert app.get("bidi_component")[0].proto.bytes == once


@pytest.mark.parametrize("from_link", [False, True])
def test_another_vocabulary_has_no_word_chosen(chinese, from_link):
    model = chinese
    if from_link:
        app = open_page(
            embeddings_panel="map",
            embeddings_map_method="pca",
            embeddings_map_search="riv",
            embeddings_map_selected="9",
        )
        assert marks(app)["of"] == 9
    else:
        app, _ = with_river_chosen()
        choose(app, MAP, search="riv", selected=9)
    app.session_state["next_model"] = model
    header = sent(finished(app.run()))
    assert header["numPoints"] == len(client().ask(vocabulary)(model))
    assert header["first"]["selected"] is None
    assert header["first"]["search"] == "riv"
    assert not app.subheader
    assert selected_in_address(app, MAP) is None
    app.run()
    assert not app.subheader
    choose(app, MAP, selected=9)
    assert client().ask(vocabulary)(model)[9] in app.subheader[0].value


def test_an_edited_text_has_no_sentence_chosen():
    app = open_page(embeddings_panel="sentences")
    text = bundled_lines("topics", "en")
    choose(app, POINTS, state=2, selected=5, near=True)
    assert marks(app)["of"] == 5
    title = app.subheader[0].value
    app.text_area(key="embeddings_topics").set_value(f"one more lamp\n{text}").run()
    header = sent(finished(app))
    assert len(header["labels"]) == len(read_lines(text).sentences) + 1
    assert header["first"]["selected"] is None
    assert (header["first"]["state"], header["first"]["near"]) == (2, False)
    assert app.subheader[0].value != title
    assert "nearest" not in said(app).split("What the maps are worth")[0].lower()
    assert selected_in_address(app, POINTS) is None


def test_the_same_sentences_turned_keep_the_chosen_one():
    app = open_page(embeddings_panel="sentences")
    choose(app, POINTS, state=1, selected=5)
    nearest, _ = bars(app)
    app.get_by_key(f"{POINTS}_alignment").set_value("procrustes").run()
    assert sent(finished(app))["first"]["selected"] == 5
    assert sent(app)["first"]["state"] == 1
    assert bars(app)[0] == nearest
