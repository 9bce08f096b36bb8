"""What goes wrong on the masked-word page is said, and nothing else is lost by it."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from bertviz_core.trace import TokenizedText
from pages.masked_word.fill_masks import filled_sentence
from tests.app.real_pages import finished, said
from tests.app.test_masked_panels import TWO_MASKS, open_page, specs
from tests.app.test_masked_word import word_labels


def test_a_mask_that_the_other_sentence_lacks_is_said_with_both_numbers():
    app = open_page(
        masked_panel="compare", text=TWO_MASKS, token="10",
        masked_other="Oslo is in [MASK].",
    )  # fmt: skip
    warnings = "\n".join(warning.value for warning in app.warning)
    assert "no mask number 2" in warnings
    assert "Mask 2 of A is compared with mask 1 of B" in warnings
    app.text_input(key="masked_other").set_value("[MASK] is in [MASK].").run()
    assert len(app.warning) == 1  # of stereotypes


def show_error(error):
    from types import SimpleNamespace

    from pages.shared.attribution import show_completeness

    found = SimpleNamespace(completeness_error=error, num_steps=32)
    show_completeness({"masked_panels.why_value": "1"}, found)


@pytest.mark.parametrize(
    ("error", "is_warned"), [(None, 0), (0.02, 0), (0.06, 1), (float("inf"), 1)]
)
def test_gradients_that_miss_more_than_five_percent_are_warned_of(error, is_warned):
    app = AppTest.from_function(show_error, args=(error,))
    app.context = {"locale": "en-GB"}
    app.run()
    assert not app.exception
    assert len(app.metric) == 1 + (error is not None)
    warned = ["do not add up" in warning.value for warning in app.warning]
    assert warned == [True] * is_warned


@pytest.mark.parametrize("hidden", ["\ufffd", "\uf0b7", "\u0301"])
def test_a_hidden_sign_that_the_model_cannot_read_leaves_the_candidates(hidden):
    app = open_page(text="Paris is [MASK].", hidden=hidden)
    assert "does not read it" in said(app)
    assert len(app.get("plotly_chart")) == 1


def test_white_space_in_an_address_is_no_hidden_word():
    app = open_page(text="Paris is [MASK].", hidden=" ")
    assert word_labels(app)[2] == "~?"


def sentence_of(text: str, steps: dict[int, str]) -> str:
    """A text with these masks filled, the last of them marked."""
    from types import SimpleNamespace

    ends = [i + len("[MASK]") for i in range(len(text)) if text.startswith("[MASK]", i)]
    size = len(ends)
    tokenized = TokenizedText(
        text=text, pair=None, tokens=("[MASK]",) * size, input_ids=np.full(size, 9),
        token_type_ids=np.zeros(size, int),
        offsets=np.array([[end - len("[MASK]"), end] for end in ends]),
        word_ids=np.arange(size), unk_token_id=0, mask_token_id=9,
        num_tokens_uncut=size,
    )  # fmt: skip
    return filled_sentence(
        tokenized,
        tuple(SimpleNamespace(mask_index=i, token=word) for i, word in steps.items()),
    )


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        ("I walk [MASK] on", {0: "##ing"}, "I walk:green-badge[**ing**] on"),
        ("[MASK] [MASK]", {0: "walk", 1: "##ing"},
         ":gray-badge[walk]:green-badge[**ing**]"),
        ("*a* [MASK], b", {}, r"\*a\* :blue-badge[\[MASK\]]\, b"),
        ("[MASK] [MASK]", {1: "on"},
         r":blue-badge[\[MASK\]] :green-badge[**on**]"),
        ("吃[MASK][MASK]吗", {0: "苹", 1: "果"},
         "吃:gray-badge[苹]:green-badge[**果**]吗"),
    ],
)  # fmt: skip
def test_a_piece_is_joined_to_what_stands_before_it(text, steps, expected):
    assert sentence_of(text, steps) == expected


def test_a_mask_has_no_rank_under_the_pointer():
    app = finished(open_page(masked_panel="positions"))
    hints = [hint for row in specs(app)[0]["data"][0]["customdata"] for hint in row]
    assert sum("no word to rank" in (hint or "") for hint in hints) == 1
    assert not any("rank 0" in (hint or "") for hint in hints)
