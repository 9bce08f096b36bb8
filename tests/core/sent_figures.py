"""Figures as the browser gets them."""

import base64
import json

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
