"""What a link brings back of a page, and what it has room for."""

from __future__ import annotations

import base64
import zlib
from urllib.parse import quote

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.choices import LONGEST_IN_ADDRESS, as_linked, fits_address, unpack
from tests.app.real_pages import dense_word, enter, link_of, run_function


@pytest.mark.parametrize("sign", ["a", " ", "我", "\n"])
def test_a_text_fits_as_long_as_its_bytes_in_an_address_do(sign):
    most = LONGEST_IN_ADDRESS // len(quote(sign))
    assert fits_address(sign * most)
    assert not fits_address(sign * (most + 1))


def test_what_stands_beside_a_text_takes_room_with_its_name():
    beside = {"second": ["我", "b"]}
    taken = len("&second=" + quote("我") + "&second=b")
    assert fits_address("a" * (LONGEST_IN_ADDRESS - taken), beside)
    assert not fits_address("a" * (LONGEST_IN_ADDRESS - taken + 1), beside)
    assert fits_address("a" * LONGEST_IN_ADDRESS, {"second": []})


@pytest.mark.parametrize(
    "text",
    ["", "short 短", "zlib~typed", "A long story. " * 500, "一个很长的故事。" * 200],
)
def test_a_long_text_is_compressed_and_comes_back(text):
    written = as_linked(text)
    assert written is not None
    assert unpack(written) == text
    assert (written == text) == (text in ("", "short 短"))
    assert len(quote(written)) < LONGEST_IN_ADDRESS


def test_what_does_not_compress_stays_out():
    assert as_linked(dense_word(LONGEST_IN_ADDRESS)) is None
    assert as_linked("a" * 10**6) is None  # nor would it be unpacked
    long = "a" * 2000
    assert as_linked(long, most_plain=1500) not in (None, long)
    assert as_linked(long, {"other": "b" * (LONGEST_IN_ADDRESS - 10)}) is None


@pytest.mark.parametrize("cut", ["", "!", "AAAA", None])
def test_a_link_that_is_cut_or_a_bomb_brings_nothing(cut):
    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 10**7, 9)).decode()
    assert unpack("zlib~" + (bomb if cut is None else cut)) is None
    written = as_linked("A long story. " * 500)
    assert unpack(written[:-9]) is None


def page_of_choices() -> None:
    """One choice of each kind; their defaults go by a number in the session."""
    import streamlit as st

    from pages.shared import choices

    now = st.session_state.get("now", 0)
    st.session_state["chosen"] = {
        "one": choices.choose_linked(
            st.selectbox, "One", ["a", "b", "c"], "abc"[now], key="one"
        ),
        "none": choices.choose_linked_or_none(
            st.selectbox, "None", ["a", "b"], key="none"
        ),
        "several": choices.choose_several(
            "Several", ["a", "b", "c"], ["ab"[now]], key="several"
        ),
        "switch": choices.switch_linked("Switch", key="switch", default=bool(now)),
        "typed": choices.type_linked(
            st.text_input, "Typed", f"text {now}", key="typed"
        ),
        "number": choices.choose_number(
            st.number_input, "Number", 1, 9, 2 + now, key="number"
        ),
        "piece": choices.choose_piece(
            "Piece", ("x", "y", "z"), [now, 2], key="piece", unknown="app.no_text"
        ),
    }


FIRST = {"one": "a", "none": None, "several": ("a",), "switch": False,
         "typed": "text 0", "number": 2, "piece": 0}  # fmt: skip
LATER = {"one": "b", "none": None, "several": ("b",), "switch": True,
         "typed": "text 1", "number": 3, "piece": 1}  # fmt: skip
LINKED = {"one": "c", "none": "b", "several": "b,c", "switch": "true",
          "typed": "mine", "number": "7", "piece": "z"}  # fmt: skip
BROUGHT = {"one": "c", "none": "b", "several": ("b", "c"), "switch": True,
           "typed": "mine", "number": 7, "piece": 2}  # fmt: skip


def chosen(app: AppTest, now: int) -> dict[str, object]:
    app.session_state["now"] = now
    app.run()
    assert not app.exception
    return app.session_state["chosen"]


def test_an_untouched_choice_follows_its_default_and_stays_out_of_the_link():
    app = run_function(page_of_choices)
    assert chosen(app, 0) == FIRST
    assert chosen(app, 1) == LATER
    assert not {*app.query_params} & {*FIRST}


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_choice_that_was_made_stays_and_stands_in_the_link(is_linked):
    app = run_function(page_of_choices, **LINKED if is_linked else {})
    if not is_linked:
        for name, value in BROUGHT.items():
            made = {"several": ["b", "c"], "piece": "z"}.get(name, value)
            app.get_by_key(name).set_value(made)
        app.run()
    for now in (0, 1):
        assert chosen(app, now) == BROUGHT
    # What has become the default is left out.
    assert {name: link_of(app, name) for name in LINKED} == LINKED | {"switch": ""}


def page_of_names() -> None:
    """Options whose names go by a word in the session, which is their language."""
    import streamlit as st

    from pages.shared import choices

    word = st.session_state.get("word", "one")
    for key in ("choose_linked", "choose_here"):
        getattr(choices, key)(
            st.selectbox,
            key,
            ["a", "b"],
            key=key,
            format_func=lambda option: f"{word} {option}",
        )


@pytest.mark.parametrize("key", ["choose_linked", "choose_here"])
def test_a_choice_is_told_to_the_browser_by_its_new_name(key):
    """Which else sends the old one back, that is no option any more."""
    app = run_function(page_of_names)
    app.selectbox(key=key).set_value("b").run()
    assert not app.selectbox(key=key).proto.set_value
    app.session_state["word"] = "other"
    told = app.run().selectbox(key=key).proto
    assert (told.set_value, told.raw_value) == (True, "other b")
    assert not app.run().selectbox(key=key).proto.set_value
    assert app.session_state[key] == "b"
    assert bool(link_of(app, key)) == (key == "choose_linked")


def page_of_a_slider() -> None:
    """A slider whose end is chosen beside it, and is its default."""
    import streamlit as st

    from pages.shared.choices import choose_number

    last = st.number_input("Last", 1, 9, 5, key="last")
    choose_number(st.slider, "Step", 0, last, last, key="step")


def test_a_slider_whose_end_moves_keeps_what_was_chosen():
    app = enter(run_function(page_of_a_slider), last=7, step=2)
    for last, step in ((4, 2), (1, 1)):
        assert enter(app, last=last).slider(key="step").value == step


def test_what_a_link_says_of_no_option_is_passed_over():
    nonsense = {"one": "q", "none": "q", "several": "q", "switch": "q", "number": "q"}
    app = run_function(page_of_choices, **nonsense)
    assert chosen(app, 0) == FIRST | {"several": ()}
    assert {name: link_of(app, name) for name in nonsense} == dict.fromkeys(
        nonsense, ""
    ) | {"several": "none"}
    assert chosen(run_function(page_of_choices, number="99"), 0)["number"] == 9
