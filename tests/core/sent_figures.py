"""Figures as the browser gets them."""

import base64
import json
from dataclasses import fields

import numpy as np
import plotly.graph_objects as go


def as_sent(figure):
    """The figure as JSON; plotly refuses an attribute that it does not know."""
    return json.loads(go.Figure(figure.to_dict()).to_json())


def numbers(values):
    """An array as plotly sends it: a list, or base64 of its bytes."""
    if isinstance(values, dict):
        flat = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        shape = map(int, values.get("shape", str(len(flat))).split(","))
        return flat.reshape(*shape).astype(float)
    return np.array(values, float)


def in_chinese(kind):
    """Words of a figure, each behind a sign that English has not."""
    return kind(**{field.name: f"字{field.default}" for field in fields(kind)})


def say_only(words, figures):
    """Requires each of the words on one of the figures, and no English one on any."""
    said = []
    for figure in figures:
        go.Figure(figure.to_dict())  # refuses an attribute that it does not know
        figure.layout.template = None
        said.append(figure.to_json().encode().decode("unicode_escape"))
    joined = "\n".join(said)
    for name, word in (pair for one in words for pair in vars(one).items()):
        begin, _, end = word.partition("{")
        assert begin in joined, name
        assert end.partition("}")[2] in joined, name
        for place in ("name", "text"):
            assert f'"{place}":"{word[1:]}' not in joined, name
