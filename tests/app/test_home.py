"""The start page shows the whole model at once and survives what is typed into it."""

import numpy as np

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.cause_results import (
    Answers,
    Prediction,
    SwitchedPrediction,
    Switches,
)
from pages.shared.navigation import ICONS
from pages.shared.own_text import EXAMPLES
from tests.app.real_pages import choose
from tests.payloads import unpacked

LAYER = {"weights": np.eye(3, 12), "norms": np.eye(3, 12)}
LAYER |= {"kept": 1.5, "attention": 1.0, "feed_forward": 0.5}
PREDICTION = Prediction(1.0, 0.7, 1, False)
ANSWERS = Answers(
    np.array([5, 6]), np.array([[0.7, 0.2], [0.1, 0.8]]), np.array([[1, 2], [2, 1]])
)
SWITCHED = SwitchedPrediction(PREDICTION, PREDICTION, ANSWERS)


def picture(app):
    """What the picture of a page is sent, and what it is told besides."""
    sent = [one.proto for one in app.get("bidi_component")]
    parts = [unpacked(one.bytes)[0] for one in sent if "whole" in one.component_name]
    return parts[0], parts[1]


def test_the_example_is_drawn_without_any_input(open_app, client):
    app = open_app()
    assert app.text_area(key="text").value == EXAMPLES["en"][0][0]
    drawn, told = picture(app)
    assert drawn["tokens"][0] == "[CLS]"
    assert drawn["isMask"].count(True) == 1
    assert drawn["guesses"] == ["lamp", "*star*"]
    assert told["focus"] == drawn["isMask"].index(True)
    assert told["agreement"]["value"] == 0.25
    before = len(client.calls)
    app.run()
    assert len(client.calls) == before > 0, "a rerun asks the engine nothing"
    # Nor does it take away what is being typed.
    assert not app.text_area(key="text").proto.set_value


def test_the_picture_of_a_long_text_is_made_once(open_app, client):
    for text in ("word " * 30, "word " * 80):
        before = len(client.calls)
        app = open_app(text=text)
        assert picture(app)
        asked = [call for call in client.calls[before:] if call[0] == "whole_model"]
        assert len(asked) == 1


def test_a_text_without_a_gap_is_followed_from_its_first_word(open_app):
    app = open_app()
    choose(app, text="No gap.")
    assert not app.error
    assert picture(app)[1]["focus"] == 1
    choose(app, text="")
    assert "no text" in app.info[0].value.lower()
    assert not app.get("bidi_component")[1:]
    assert len(app.main.get("page_link")) == len(ICONS) - 1  # the doors are there


def test_a_link_opens_a_piece_a_part_and_switches(open_app, client):
    client.open_part = lambda *asked: client._asked("open_part", *asked) or LAYER
    client.open_answer = lambda *asked: client.logits
    client.switch_off = lambda *asked, **more: client._asked("off", *asked) or SWITCHED
    app = open_app(token="2", whole_open="layer.1", whole_off="layer.0 layer.1.head.2")
    told = picture(app)[1]
    assert (told["focus"], told["open"]) == (1, "layer.1")
    assert told["off"] == ["layer.0", "layer.1.head.2"]
    assert told["opened"]["kept"] == 1.5
    assert [row["word"] for row in told["switched"]] == ["*star*", "lamp"]
    (off,) = [call for call in client.calls if call[0] == "off"]
    assert off[4] == Switches(
        heads=((1, 2),), attention=(0,), feed_forward=(0,), edges=()
    )
    # Parts stay off in another text, curves are those of one text.
    app = open_app(whole_off="layer.1.head.2 layer.0.edge.1.0", whole_open="layer.1")
    assert picture(app)[1]["off"] == ["layer.1.head.2", "layer.0.edge.1.0"]
    told = picture(choose(app, text="No gap."))[1]
    assert (told["open"], told["off"]) == ("layer.1", ["layer.1.head.2"])
    # A link may name any activation; what the model has not is passed over.
    for named, opened in (
        ("layer.1.attention", "layer.1"),
        ("layer.0.attention.probs", "layer.0"),
        ("layer.7", ""),
        ("nothing.at.all", ""),
    ):
        app = open_app(whole_open=named, whole_off="layer.7.head.1 nonsense")
        assert picture(app)[1]["open"] == opened
        assert not app.exception


def test_every_page_has_a_door(open_app):
    links = [link.proto.page for link in open_app().main.get("page_link")]
    assert {*links, "home"} == set(ICONS)


def test_a_model_without_a_masked_word_head_is_drawn_without_guesses(open_app, client):
    client.heads = ("pooler",)
    app = open_app()
    drawn, told = picture(app)
    assert drawn["numGuesses"] == 0
    assert told["agreement"] is None
    assert DEFAULT_MODEL.split("-")[0] in app.info[0].value
