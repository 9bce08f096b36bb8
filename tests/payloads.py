"""Reads what canvas components are sent, written again from its description."""

from __future__ import annotations

import json
import struct

import numpy as np


def unpacked(payload: bytes) -> dict:
    """The header of a payload, see `figures.payload.pack`, with its `arrays`."""
    (length,) = struct.unpack("<I", payload[:4])
    header = json.loads(payload[4 : 4 + length])
    arrays = {
        name: np.frombuffer(payload, part["dtype"], part["length"], part["offset"])
        for name, part in header["parts"].items()
    }
    return {**header, "arrays": arrays}
