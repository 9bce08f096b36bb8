"""Writes the index of a TensorFlow checkpoint by hand, so that it can be a lie."""

import struct

import google_crc32c

MAGIC = bytes.fromhex("57fb808b247547db")
MINUS_ONE = 2**64 - 1
ONE_RESTART = struct.pack("<II", 0, 1)


def varint(number):
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def masked_crc(data):
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32


def field(number, value):
    """A field of a message: a number, the bytes of a message, or a float's bytes."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def shape(*sizes):
    return b"".join(field(2, field(1, size)) for size in sizes)


def entry(dtype=1, sizes=(2,), shard=0, offset=0, size=8, data=bytes(8), more=b""):
    return b"".join(
        [
            field(1, dtype),
            field(2, shape(*sizes)),
            field(3, shard),
            field(4, offset),
            field(5, size),
            varint(6 << 3 | 5) + struct.pack("<I", masked_crc(data)),
            more,
        ]
    )


def header(num_shards=1, more=b""):
    return field(1, num_shards) + more


def sealed(block, kind=b"\0"):
    return block + kind + struct.pack("<I", masked_crc(block + kind))


def block(items, restarts=ONE_RESTART):
    """Keys and values; a key may be (shared, rest)."""
    body = b""
    for key, value in items:
        shared, rest = key if isinstance(key, tuple) else (0, key)
        body += varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value
    return body + restarts


def table(*blocks, repeats=1, kind=b"\0"):
    """A whole file of blocks of (key, value); `repeats` names each so many times."""
    data, handles = b"", []
    for number, items in enumerate(blocks):
        raw = items if isinstance(items, bytes) else block(items)
        handle = varint(len(data)) + varint(len(raw))
        handles += [(bytes([255, number]), handle)] * repeats
        data += sealed(raw, kind)
    ends = b""
    for items in ([], handles):
        raw = block(items)
        ends += varint(len(data)) + varint(len(raw))
        data += sealed(raw)
    return data + ends.ljust(40, b"\0") + MAGIC


def index_of(**entries):
    """An index with these entries, in order."""
    items = [(name.encode(), value) for name, value in sorted(entries.items())]
    return table([(b"", header()), *items])


def resealed(index):
    """The index of one block of entries with that block's checksum made right."""
    end = first_block_end(index)
    return sealed(index[:end]) + index[end + 5 :]


def first_block_end(index):
    """Where the one block of entries ends: its trailer is before an empty block."""
    return index.index(sealed(block([]))) - 5
