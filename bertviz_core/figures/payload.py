"""Arrays on their way to a canvas, in one string of bytes.

`assets/components/payload.js` reads what is written here.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np


def pack(header: Mapping[str, Any], parts: Mapping[str, np.ndarray]) -> bytes:
    """Joins a header and arrays (float32, uint8 or uint16) into one string of bytes.

    Length of the header (uint32, little-endian), header (JSON, UTF-8), arrays
    (little-endian), each from a multiple of four bytes. The header says where.
    """
    table: dict[str, Any] = {}
    blob = b""
    for name, part in parts.items():
        table[name] = {
            "dtype": part.dtype.name,
            "offset": len(blob),
            "length": int(part.size),
        }
        raw = np.ascontiguousarray(part, part.dtype.newbyteorder("<")).tobytes()
        blob += raw + b"\0" * (-len(raw) % 4)
    # Offsets count from the start of the whole, which their own digits push back.
    text = _header_text(header, table, 0)
    start = 4 + len(text) + 10 * len(table)
    start += -start % 4
    text = _header_text(header, table, start)
    return struct.pack("<I", start - 4) + text.ljust(start - 4) + blob


def _header_text(
    header: Mapping[str, Any], table: Mapping[str, Any], start: int
) -> bytes:
    parts = {
        name: {**part, "offset": part["offset"] + start} for name, part in table.items()
    }
    return json.dumps({**header, "parts": parts}, ensure_ascii=False).encode()
