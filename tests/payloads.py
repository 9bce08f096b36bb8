"""Reads what canvas components are sent, written again from its description."""

from __future__ import annotations

import json
import struct

import numpy as np


def unpacked(payload: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The header and the arrays of a payload, see `figures.payload.pack`."""
    (length,) = struct.unpack("<I", payload[:4])
    header = json.loads(payload[4 : 4 + length])
    arrays = {
        name: np.frombuffer(payload, part["dtype"], part["length"], part["offset"])
        for name, part in header["parts"].items()
    }
    assert all(part["offset"] % 4 == 0 for part in header["parts"].values())
    return header, arrays
