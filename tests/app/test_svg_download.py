"""The button that saves an SVG: the picture is made and sent once for each click."""

import json

from streamlit.testing.v1 import AppTest


def page():
    """A page with one button and what comes below it."""
    import streamlit as st

    from bertviz_core.errors import TextError
    from pages.attention.downloads import download_svg

    def make():
        st.session_state.made = st.session_state.get("made", 0) + 1
        fault = st.session_state.get("fault")
        if fault == "refused":
            raise TextError("There is no text.")
        if fault == "interrupted":
            del st.session_state.fault
            st.stop()
        return "<svg>气</svg>"

    download_svg("Picture", make, file_name="气.svg", key="save")
    st.text("below")


def opened(**state):
    app = AppTest.from_function(page)
    for name, value in state.items():
        app.session_state[name] = value
    return app.run(timeout=20)


def sent(app):
    """What the component has got of the answer."""
    (component,) = app.get("bidi_component")
    data = json.loads(component.proto.json)
    assert data["words"]["label"] == "Picture"
    assert data["file"] == "气.svg"
    return data.get("made")


def test_nothing_is_made_before_a_click():
    app = opened()
    assert sent(app) is None
    assert "made" not in app.session_state


def test_a_picture_is_sent_with_its_number_and_not_again():
    app = opened(save_asked=7)
    assert sent(app) == {"number": 7, "svg": "<svg>气</svg>"}
    assert sent(app.run()) is None
    app.session_state["save_asked"] = 8
    assert sent(app.run())["number"] == 8
    assert app.session_state["made"] == 2


def test_what_cannot_be_made_is_said_and_ends_the_wait():
    app = opened(save_asked=7, fault="refused")
    assert sent(app) == {"number": 7, "svg": None}
    assert "There is no text" in app.error[0].value
    assert app.text[0].value == "below"


def test_a_click_whose_run_was_cut_short_is_answered_by_the_next():
    app = opened(save_asked=7, fault="interrupted")
    assert not app.get("bidi_component")
    assert sent(app.run()) == {"number": 7, "svg": "<svg>气</svg>"}
