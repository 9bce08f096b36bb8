"""What the layers page draws of a step, and how a test goes to one."""

from __future__ import annotations

import json

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.payloads import unpacked


def sent_to(app: AppTest, name: str):
    """What a component of the page has got; fails where it is not there once."""
    (found,) = (
        one.proto
        for one in app.get("bidi_component")
        if one.proto.component_name.rpartition(".")[2] == name
    )
    return found


def strip_data(app: AppTest) -> dict:
    """What the strip of steps has got."""
    return json.loads(sent_to(app, "bert_explorer_layers").json)


def pictures_sent(app: AppTest) -> dict[str, np.ndarray]:
    """The numbers of each step that the browser holds, `[rows, columns]`, in order."""
    header, arrays = unpacked(sent_to(app, "bert_explorer_step").bytes)
    return {
        name: arrays[name].reshape(len(picture["rows"]), -1)
        for name, picture in header["pictures"].items()
    }


def step_picture(app: AppTest) -> dict:
    """The picture of the chosen step; its `values` have a row for each of `rows`."""
    header, _ = unpacked(sent_to(app, "bert_explorer_step").bytes)
    name = strip_data(app)["current"]
    return {**header["pictures"][name], "values": pictures_sent(app)[name]}


def walk(app: AppTest, by: int) -> AppTest:
    """Goes so many steps on, as a click into the strip does."""
    data = strip_data(app)
    names = [step["name"] for part in data["parts"] for step in part["steps"]]
    app.session_state["layers_step"] = names[names.index(data["current"]) + by]
    return app.run()
