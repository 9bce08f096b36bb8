"""Language, navigation and errors, on whatever page."""

import json
import logging

import pytest

from bertviz_core.errors import EngineError
from tests.app.real_pages import choose, run_function


@pytest.mark.parametrize(
    ("locale", "link", "said"),
    [
        (None, {}, "What you can explore"),
        ("de-DE", {}, "What you can explore"),
        ("zh-TW", {}, "可以探索什么"),
        ("ZH-hans", {}, "可以探索什么"),
        ("en-GB", {"lang": "中文"}, "可以探索什么"),
        ("zh-CN", {"lang": "English"}, "What you can explore"),
    ],
)
def test_the_browser_decides_the_language_unless_the_address_does(
    open_app, locale, link, said
):
    assert open_app(locale=locale, **link).header[0].value == said


def test_one_visitors_language_does_not_reach_another(open_app):
    english, chinese = open_app(), open_app(locale="zh-CN")
    english.run()
    assert english.header[0].value == "What you can explore"
    assert chinese.run().header[0].value == "可以探索什么"


def test_the_title_is_there_even_if_the_engine_is_not(open_app, client):
    client.broken["models"] = EngineError(
        "The process that ran this task was lost, twice. Try again."
    )
    app = open_app()
    assert app.title[0].value == "BERT Explorer"
    assert len(app.error) == 1


def test_a_defect_is_one_sentence_and_the_log_has_the_rest(open_app, client, caplog):
    client.broken["predict_masks"] = RuntimeError("secret of the server")
    with caplog.at_level(logging.ERROR):
        app = open_app("masked_word")
    assert not app.exception
    assert "Something went wrong in this app" in app.error[0].value
    assert "secret" not in app.error[0].value
    assert "secret of the server" in caplog.text


def test_an_error_of_the_core_is_said_in_chinese(open_app):
    app = open_app(locale="zh-CN", model="no model")
    assert "没有模型 no model" in app.error[0].value
    assert "Received" not in app.error[0].value


def test_an_error_shows_what_the_user_typed_as_text(open_app):
    app = open_app(model="**bold** <b>")
    assert r"\*\*bold\*\* \<b\>" in app.error[0].value


def test_how_to_read_a_page_is_folded_into_the_line_of_its_title(open_app):
    app = open_app("activations")
    (box,) = [one for one in app.get("popover") if "read" in one.proto.popover.label]
    said = "\n".join(one.value for one in box.markdown)
    for part in ("What you see", "activation function", "New words on this page"):
        assert part in said


def test_projector_mode_enlarges_the_type_of_every_page(open_app):
    app = open_app("activations")

    def sizes():
        specs = [json.loads(one.proto.spec) for one in app.get("plotly_chart")]
        return {spec["layout"].get("font", {}).get("size") for spec in specs}

    assert sizes() == {None}
    choose(app, projector=True)
    assert sizes() == {18}
    app.switch_page("pages/models/models.py").run()
    assert app.toggle(key="projector").value
    assert app.query_params["projector"] in ("true", ["true"])
    assert any("font-size: 22px" in one.proto.body for one in app.get("html"))


def two_parts():
    import streamlit as st

    from bertviz_core.errors import TextError
    from pages.shared.panel import panel

    def fail():
        raise TextError("Too long. Received: {count} words.", count=3)

    panel(fail)()
    st.markdown("below")


def test_an_error_in_a_part_leaves_what_stands_below_it():
    app = run_function(two_parts)
    (error,) = app.error
    assert error.value.replace("\\", "") == "Too long. Received: 3 words."
    assert app.markdown[0].value == "below"
