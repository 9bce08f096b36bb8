"""TensorFlow's checkpoints, read without it: the same numbers, and no way to abort.

Each of the crafted files below marked `aborts` ends a process that opens it with
TensorFlow 2.21 by a failed CHECK.
"""

import struct
import sys

import google_crc32c
import numpy as np
import pytest

from bertviz_core.checkpoints.folder import open_folder
from bertviz_core.checkpoints.sorted_table import TableError
from bertviz_core.checkpoints.stored import MAX_INDEX_BYTES
from bertviz_core.checkpoints.tensor_bundle import TensorBundle
from bertviz_core.errors import CheckpointError
from tests.core.checkpoint_copies import GOOGLE, google_copy, refusal_of

# The index of a checkpoint written by hand, so that it can be a lie.
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


PREFIX = "bert_model.ckpt"
NAME = "bert/pooler/dense/bias"


def read_all(folder):
    checkpoint = open_folder(folder)
    for name in checkpoint.shapes:
        checkpoint.read(name)


def refusal(folder):
    return refusal_of(read_all, folder)


@pytest.fixture
def index(tmp_path):
    """The index of a copy of `google_tiny`, to be written anew."""
    return google_copy(tmp_path) / f"{PREFIX}.index"


def assert_same_as_tensorflow(prefix):
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(prefix))
    ours = TensorBundle(prefix)
    shapes = {name: tuple(s) for name, s in reader.get_variable_to_shape_map().items()}
    assert ours.shapes == shapes
    for name, dtype in reader.get_variable_to_dtype_map().items():
        if dtype.is_floating:
            array = ours.read(name)
            assert array.dtype == dtype.as_numpy_dtype
            np.testing.assert_array_equal(array, reader.get_tensor(name))
    return shapes


def save(prefix, tensors):
    import tensorflow as tf

    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(value) for value in tensors.values()],
    )


@pytest.mark.tensorflow
def test_the_golden_checkpoint_is_what_tensorflow_reads():
    assert NAME in assert_same_as_tensorflow(GOOGLE / PREFIX)


@pytest.mark.tensorflow
def test_all_floats_and_shapes_are_what_tensorflow_reads(tmp_path):
    import tensorflow as tf

    rng = np.random.default_rng(3)
    values = rng.normal(size=(3, 4, 5))
    kinds = (tf.float16, tf.bfloat16, tf.float32, tf.float64)
    tensors = {f"a/{kind.name}": tf.cast(values, kind) for kind in kinds}
    tensors |= {"scalar": tf.constant(2.5), "empty": tf.zeros([0, 3]), "整": tf.ones(2)}
    tensors |= {"words": tf.constant(["a", "b"]), "step": tf.constant(7, tf.int64)}
    save(tmp_path / "m", tensors)
    assert_same_as_tensorflow(tmp_path / "m")


@pytest.mark.tensorflow
def test_an_index_of_many_blocks_and_data_in_several_files(tmp_path):
    import tensorflow as tf

    rng = np.random.default_rng(4)
    for shard in range(3):
        names = (f"layer_{i}/of/{shard}/{'long' * 20}{i * 7919}" for i in range(2000))
        save(
            tmp_path / f"part{shard}",
            {n: rng.normal(size=(i % 3)) for i, n in enumerate(names)},
        )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=[str(tmp_path / f"part{shard}") for shard in range(3)],
        destination_prefix=str(tmp_path / "m"),
    )
    assert len(list(tmp_path.glob("m.data-*-of-00003"))) == 3
    assert len(assert_same_as_tensorflow(tmp_path / "m")) == 6000


def test_no_tensorflow_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    read_all(GOOGLE)


CRAFTED = {
    "an axis below zero (aborts)": index_of(w=entry(sizes=(MINUS_ONE,))),
    "more numbers than can be counted (aborts)": index_of(w=entry(sizes=(2**40,) * 2)),
    "300 axes (aborts)": index_of(w=entry(sizes=(1,) * 300, size=4)),
    "an unknown type (aborts)": index_of(w=entry(dtype=77)),
    "a shape too large for its bytes": index_of(w=entry(sizes=(2**30,))),
    "an offset below zero": index_of(w=entry(offset=MINUS_ONE - 3)),
    "an offset beyond the end": index_of(w=entry(offset=10**6)),
    "a size beyond the end": index_of(w=entry(sizes=(2**30,), size=2**32)),
    "an offset and a size that run over": index_of(w=entry(offset=2**63 - 8)),
    "a size below zero": index_of(w=entry(size=MINUS_ONE)),
    "another size than the shape's": index_of(w=entry(sizes=(3,))),
    "a wrong checksum": index_of(w=entry(data=b"other")),
    "a file that is not there": index_of(w=entry(shard=1)),
    "a file below zero": index_of(w=entry(shard=MINUS_ONE)),
    "two files, and one is absent": table([(b"", header(2)), (b"w", entry(shard=1))]),
    "no files": table([(b"", header(0)), (b"w", entry())]),
    "a billion files": table([(b"", header(10**9)), (b"w", entry())]),
    "numbers of another byte order": table([(b"", header(1, field(2, 1)))]),
    "no header": table([(b"w", entry())]),
    "a shape of unknown rank": index_of(w=field(1, 1) + field(2, field(3, 1))),
    "a shape that is a number": index_of(w=field(2, 5)),
    "an axis that is a number": index_of(w=field(2, field(2, 5))),
    "a type that is a message": index_of(w=field(1, shape(2))),
    "a field of no kind": index_of(w=varint(1 << 3 | 3)),
    "a field that is cut off": index_of(w=varint(2 << 3 | 2) + varint(200) + b"x"),
    "a number that does not end": index_of(w=varint(1 << 3) + b"\xff" * 20),
    "a name that is no UTF-8": table([(b"", header()), (b"\xc3\x28", entry())]),
    "a name that is too long": table([(b"", header()), (b"w" * 501, entry())]),
    "names out of order": table([(b"", header()), (b"b", entry()), (b"a", entry())]),
    "a block named a thousand times": table(
        [(b"", header()), (b"w", entry())], repeats=1000
    ),
    "an empty block": table([(b"", header())], []),
    "a packed block": table([(b"", header()), (b"w", entry())], kind=b"\1"),
    "more shared than there was": table([(b"", header()), ((5, b"w"), entry())]),
    "an entry beyond its block": table(b"\0\x7f\0" + block([])),
    "more restarts than bytes": table(block([], b"\xff\xff\xff\x7f")),
    "a block without restarts": table(b"ab"),
    "nothing": b"",
    "no blocks": table(),
    "handles beyond the end": b"\xff\x7f" * 20 + table()[-8:],
    "handles without end": b"\xff" * 40 + table()[-8:],
    "too many bytes": table() + bytes(MAX_INDEX_BYTES),
}


# Those that would be refused later, too, but for another reason.
REASONS = {
    "an axis below zero (aborts)": "a number that cannot be",
    "a size below zero": "a number that cannot be",
    "names out of order": "keys out of order",
    "a block named a thousand times": "keys out of order",
    "300 axes (aborts)": "more than 8 axes",
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_index_is_refused_as_damaged(index, name):
    index.write_bytes(CRAFTED[name])
    sentence = refusal(index.parent)
    assert "damaged or incomplete" in sentence
    assert REASONS.get(name, "") in sentence


@pytest.mark.parametrize(
    "name", ["a shape too large for its bytes", "another size than the shape's"]
)
def test_what_a_small_file_only_claims_is_refused_before_it_is_read(index, name):
    index.write_bytes(CRAFTED[name])
    with pytest.raises(CheckpointError, match="for shape"):
        open_folder(index.parent)


def test_weights_do_not_share_their_bytes(index):
    data = index.with_name(f"{PREFIX}.data-00000-of-00001")
    data.write_bytes(bytes(400))
    one = entry(sizes=(100,), size=400)
    index.write_bytes(index_of(v=one, w=one))
    with pytest.raises(CheckpointError, match="800 bytes of weights in 400"):
        open_folder(index.parent)


@pytest.mark.parametrize(
    "data",
    [
        index_of(w=entry(more=field(7, b""))),
        table([(b"", header()), (b"\0\1w\0\1", entry()), (b"w", entry())]),
    ],
)
def test_a_weight_in_pieces_is_refused_as_such(index, data):
    index.write_bytes(data)
    assert "partitioned variables" in refusal(index.parent)


@pytest.mark.tensorflow
def test_weights_in_pieces_as_tensorflow_writes_them(tmp_path):
    import tensorflow as tf

    folder = google_copy(tmp_path)
    tf.raw_ops.SaveV2(
        prefix=str(folder / PREFIX),
        tensor_names=["bert/w", "bert/w"],
        shape_and_slices=["4 2 0,2:-", "4 2 2,2:-"],
        tensors=[tf.ones([2, 2]), tf.ones([2, 2])],
    )
    assert "partitioned variables" in refusal(folder)


def test_an_index_that_is_cut_or_has_a_flipped_bit_anywhere_is_refused(index):
    """Blocks have checksums, and the padding of the footer means nothing."""
    prefix, whole = index.with_suffix(""), index.read_bytes()
    expected = TensorBundle(prefix).shapes
    footer = len(whole) - 60
    for place in (*range(0, footer, 5), *range(footer, len(whole))):
        index.write_bytes(whole[:place])
        with pytest.raises(TableError):
            TensorBundle(prefix)
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        index.write_bytes(changed)
        try:
            assert TensorBundle(prefix).shapes == expected
        except TableError:
            continue
        assert len(whole) - 48 <= place < len(whole) - 8


def test_a_changed_entry_with_a_right_checksum_never_does_worse_than_an_error(index):
    """As one would write who wants the process to die."""
    whole = index.read_bytes()
    end = first_block_end(whole)
    assert resealed(whole) == whole
    rng = np.random.default_rng(0)
    num_refused = 0
    for place in range(0, end, 7):
        changed = bytearray(whole)
        changed[place] = rng.choice([0, 0x7F, 0x80, 0xFF, rng.integers(256)])
        index.write_bytes(resealed(bytes(changed)))
        try:
            read_all(index.parent)
        except CheckpointError:
            num_refused += 1
    assert num_refused > end / 21
