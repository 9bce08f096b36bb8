"""Tables of sorted keys, as LevelDB and TensorFlow write them, read with care.

Every number in such a file may be a lie, so each is held against what is there. No
key is longer than the name of a weight can be, and whoever reads counts them.

Source: google/leveldb, `doc/table_format.md`, and TensorFlow, `core/lib/io/table.h`.
"""

from collections.abc import Iterator

import google_crc32c

from bertviz_core.checkpoints.stored import MAX_NAME_CHARACTERS

# Two handles of up to 20 bytes each, padded, then eight bytes that tell the format.
_FOOTER_BYTES, _HANDLES_BYTES = 48, 40
_MAGIC = bytes.fromhex("57fb808b247547db")
# Behind each block: how it is packed, and a checksum.
_TRAILER_BYTES = 5
_NOT_PACKED = 0
_MAX_VARINT_BYTES = 10


class TableError(ValueError):
    """The file is not such a table, or a damaged one; says where, in English."""


def read_table(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a whole file's table, in the order of the keys.

    Raises:
        TableError: damaged, packed, out of order, or a key that is too long.
    """
    if len(data) < _FOOTER_BYTES or not data.endswith(_MAGIC):
        raise TableError("no table")
    footer = data[-_FOOTER_BYTES:][:_HANDLES_BYTES]
    _, position = _read_block(data, footer)  # empty, but a broken one is a broken file
    index, _ = _read_block(data, footer, position)
    last: bytes | None = None
    for _, value in _entries(index):
        block, _ = _read_block(data, value)
        for key, stored in _entries(block):
            # Else a few bytes could name one block a million times.
            if last is not None and key <= last:
                raise TableError("keys out of order")
            last = key
            yield key, stored


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of seven bits a byte, the lowest first, and where it ends.

    Raises:
        TableError: it is cut off, 2⁶⁴ or more.
    """
    value = 0
    for index, byte in enumerate(data[position : position + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80 and value < 2**64:
            return value, position + index + 1
    raise TableError("a number that is cut off or too long")


def is_intact(data: bytes, masked: int) -> bool:
    """Whether bytes have the checksum that is stored for them.

    `masked` is CRC-32C, turned by 15 bits, and a constant added: what TensorFlow and
    LevelDB store (`crc32c.h`, `Mask`).
    """
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF == masked


def _read_block(data: bytes, handles: bytes, position: int = 0) -> tuple[bytes, int]:
    """A block by its handle, and the position behind that.

    It comes without its trailer and without the list of restarts at its end.
    """
    start, position = read_varint(handles, position)
    size, position = read_varint(handles, position)
    end = start + size
    if end + _TRAILER_BYTES > len(data):
        raise TableError("a block beyond the end")
    checksum = int.from_bytes(data[end + 1 : end + _TRAILER_BYTES], "little")
    if not is_intact(data[start : end + 1], checksum):
        raise TableError("a block with a wrong checksum")
    if data[end] != _NOT_PACKED:
        raise TableError("a packed block")  # TensorFlow's writer packs none
    block = data[start:end]
    num_restarts = int.from_bytes(block[-4:], "little")
    left = len(block) - 4 * (num_restarts + 1)
    if left < 0:
        raise TableError("a block that is too short")
    return block[:left], position


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not block:  # nobody writes one; a million of them would take minutes
        raise TableError("an empty block")
    key, position = b"", 0
    while position < len(block):
        shared, position = read_varint(block, position)
        added, position = read_varint(block, position)
        size, position = read_varint(block, position)
        end = position + added + size
        if shared > len(key) or end > len(block):
            raise TableError("an entry beyond its block")
        key = key[:shared] + block[position : position + added]
        if len(key) > MAX_NAME_CHARACTERS:
            raise TableError("a name that is too long")
        yield key, block[end - size : end]
        position = end
