"""Figures as the browser gets them."""

import base64
import json

import numpy as np
import plotly.graph_objects as go

from tests.locale_words import words_of


def figure_texts(page):
    """The texts of a page's figures, by name."""
    return {
        name.removeprefix("figure_"): text
        for name, text in words_of(page).items()
        if name.startswith("figure_")
    }


def as_sent(figure):
    """The figure as JSON."""
    return json.loads(go.Figure(figure.to_dict()).to_json())


def numbers(values):
    """An array as plotly sends it: a list, or base64 of its bytes."""
    if isinstance(values, dict):
        flat = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        shape = map(int, values.get("shape", str(len(flat))).split(","))
        return flat.reshape(*shape).astype(float)
    return np.array(values, float)


def checked(figure):
    """The figure, after plotly's check of every name and value."""
    go.Figure(figure.to_dict())
    return figure


def shown(text):
    """Without the signs that keep the reading direction."""
    return text.replace("\u2068", "").replace("\u2069", "")


def say_only(page, draw):
    """Requires each text that figures ask for on one of them, and no English on any.

    `draw` makes figures with what gives a text of the page by its name. Returns the
    names that were asked for.
    """
    # Behind a sign that English has not.
    texts = {name: f"字{text}" for name, text in figure_texts(page).items()}
    asked, said = set(), []
    for figure in draw(lambda name: asked.add(name) or texts[name]):
        checked(figure)
        figure.layout.template = None
        said.append(figure.to_json().encode().decode("unicode_escape"))
    joined = "\n".join(said)
    for name in asked:
        begin, _, end = texts[name].partition("{")
        assert begin in joined, name
        assert end.partition("}")[2] in joined, name
        for place in ("name", "text"):
            assert f'"{place}":"{texts[name][1:]}' not in joined, name
    return asked
