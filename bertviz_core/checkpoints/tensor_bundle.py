"""TensorFlow's checkpoints of 2016 and later, read without TensorFlow.

Its own reader ends the whole process over a shape, type or number that cannot be
(`CHECK failed`), and with it everybody's models. These files come from strangers, so
they are read here, where the worst is an error.

Source: TensorFlow, `core/util/tensor_bundle/tensor_bundle.h`,
`core/protobuf/tensor_bundle.proto` and `core/framework/types.proto`. The encoding of
messages: protobuf.dev, "Encoding".
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

from bertviz_core.checkpoints.names import Shape
from bertviz_core.checkpoints.sorted_table import (
    TableError,
    is_intact,
    read_table,
    read_varint,
)
from bertviz_core.checkpoints.stored import MAX_INDEX_BYTES, require_few_names

# Of BERT's weights two. NumPy takes no more than 64.
_MAX_AXES = 8
# Types of numbers, of `types.proto`: those that a weight can have.
_FLOATS: Mapping[int, np.dtype] = {
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    14: np.dtype(ml_dtypes.bfloat16),
    19: np.dtype("<f2"),
}
_VARINT, _EIGHT_BYTES, _MESSAGE, _FOUR_BYTES = 0, 1, 2, 5


class BundleError(TableError):
    """The checkpoint is damaged; says where, in English."""


class SlicedError(BundleError):
    """A weight lies in several pieces, which are not joined here."""


class _Entry(NamedTuple):
    """What the index says of one tensor."""

    dtype: int  # number of the type
    shape: Shape  # of the tensor
    shard: int  # number of the data file
    offset: int  # in that, in bytes
    size: int  # in bytes
    checksum: int  # of the bytes, see `sorted_table.is_intact`


class TensorBundle:
    """A checkpoint, its index read and its tensors not yet.

    It is `prefix.index` and `prefix.data-00000-of-00001`.

    Raises:
        TableError: damaged, or nothing that TensorFlow wrote.
        CheckpointError: far too many names.
        UnicodeDecodeError: a name that is not UTF-8.
        OSError: the index is absent or cannot be read.
    """

    def __init__(self, prefix: Path) -> None:
        path = prefix.with_name(f"{prefix.name}.index")
        if path.stat().st_size > MAX_INDEX_BYTES:
            raise BundleError(f"{path.stat().st_size} bytes of index")
        table = read_table(path.read_bytes())
        key, header = next(table)
        if key:  # the header has the empty one, which comes first
            raise BundleError("no header")
        self._prefix, self._num_shards = prefix, _num_shards(header)
        self._entries: dict[str, _Entry] = {}
        for key, value in table:
            if key.startswith(b"\0"):  # a piece of one, by `EncodeTensorNameSlice`
                raise SlicedError("a weight in pieces")
            self._entries[key.decode("utf-8")] = _entry(value)
            require_few_names(path.name, len(self._entries))

    @property
    def shapes(self) -> dict[str, Shape]:
        return {name: entry.shape for name, entry in self._entries.items()}

    def read(self, name: str) -> np.ndarray:
        """One tensor of floats, as it is stored.

        Raises:
            BundleError: damaged, or of another type.
            OSError: its file is absent or cannot be read.
        """
        entry = self._entries[name]
        dtype = _FLOATS.get(entry.dtype)
        if dtype is None:
            raise BundleError(f"{name}: no floats, but type {entry.dtype}")
        _require_shape(entry, name)
        path = self._shard(entry.shard)
        with path.open("rb") as file:
            _require_inside(entry, name, path.stat().st_size)
            file.seek(entry.offset)
            data = file.read(entry.size)
        if not is_intact(data, entry.checksum):
            raise BundleError(f"{name}: wrong checksum")
        return np.frombuffer(data, dtype).reshape(entry.shape)

    def require_data(self) -> None:
        """Holds the index against the sizes of the data files; reads none.

        So that nothing is built for weights that a small file only claims to have.

        Raises:
            BundleError: a file is absent or too short, or two weights share bytes.
        """
        sizes: dict[int, int] = {}
        for name, entry in self._entries.items():
            if entry.shard >= self._num_shards:
                raise BundleError(f"{name}: file {entry.shard} of {self._num_shards}")
            if entry.shard not in sizes:
                path = self._shard(entry.shard)
                sizes[entry.shard] = path.stat().st_size if path.is_file() else 0
            _require_inside(entry, name, sizes[entry.shard])
            _require_shape(entry, name)
        claimed = sum(entry.size for entry in self._entries.values())
        if claimed > sum(sizes.values()):
            raise BundleError(f"{claimed} bytes of weights in {sum(sizes.values())}")

    def _shard(self, index: int) -> Path:
        number = f"{index:05d}-of-{self._num_shards:05d}"
        return self._prefix.with_name(f"{self._prefix.name}.data-{number}")


def _require_inside(entry: _Entry, name: str, num_bytes: int) -> None:
    if entry.offset + entry.size > num_bytes:
        raise BundleError(f"{name}: beyond the end of file {entry.shard}")


def _require_shape(entry: _Entry, name: str) -> None:
    dtype = _FLOATS.get(entry.dtype)
    if dtype and entry.size != math.prod(entry.shape) * dtype.itemsize:
        raise BundleError(f"{name}: {entry.size} bytes for shape {entry.shape}")


def _num_shards(header: bytes) -> int:
    """Number of data files, by the `BundleHeaderProto`."""
    num_shards, is_big_endian = 0, False
    for field, value in _fields(header):
        if field == 1:
            num_shards = _number(value)
        elif field == 2:
            is_big_endian = value != 0
    if is_big_endian:
        raise BundleError("numbers with the highest byte first")
    if not 0 < num_shards < 100_000:  # five digits in the name of a file
        raise BundleError(f"{num_shards} data files")
    return num_shards


def _entry(data: bytes) -> _Entry:
    """Reads a `BundleEntryProto`; what is absent is zero."""
    numbers = dict.fromkeys((1, 3, 4, 5, 6), 0)
    shape: Shape = ()
    for field, value in _fields(data):
        if field in numbers:
            numbers[field] = _number(value)
        elif field == 2:
            shape = _shape(value)
        elif field == 7:
            raise SlicedError("a weight in pieces")
    return _Entry(numbers[1], shape, *(numbers[field] for field in (3, 4, 5, 6)))


def _shape(data: int | bytes) -> Shape:
    """Reads a `TensorShapeProto`."""
    sizes = []
    for field, axis in _fields(data):
        if field == 2:
            size = [value for name, value in _fields(axis) if name == 1]
            sizes.append(_number(size[-1]) if size else 0)
        elif field == 3:
            raise BundleError("a shape that nobody knows")
        if len(sizes) > _MAX_AXES:
            raise BundleError(f"more than {_MAX_AXES} axes")
    return tuple(sizes)


def _number(value: int | bytes) -> int:
    # Below zero is above this: protobuf writes two's complements.
    if isinstance(value, bytes) or value >= 2**63:
        raise BundleError("a number that cannot be")
    return value


def _fields(data: int | bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of the fields of a message."""
    if isinstance(data, int):
        raise BundleError("a number in place of a message")
    position = 0
    while position < len(data):
        tag, position = read_varint(data, position)
        kind = tag & 7
        if kind == _VARINT:
            number, position = read_varint(data, position)
            yield tag >> 3, number
            continue
        size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind)
        if kind == _MESSAGE:
            size, position = read_varint(data, position)
        if size is None or position + size > len(data):
            raise BundleError("a field that is cut off or of no known kind")
        raw, position = data[position : position + size], position + size
        yield tag >> 3, raw if kind == _MESSAGE else int.from_bytes(raw, "little")
