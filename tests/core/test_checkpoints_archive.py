import stat
import struct
import zipfile

import pytest

from bertviz_core.checkpoints import archive
from bertviz_core.checkpoints.archive import unpack
from bertviz_core.checkpoints.folder import TEXT_FILES
from tests.core.checkpoint_copies import GOOGLE, HF, encrypted, refusal_of


def write_zip(path, files, method=zipfile.ZIP_DEFLATED):
    """Files as pairs of name or `ZipInfo` and bytes."""
    with zipfile.ZipFile(path, "w", method) as target:
        for name, data in files:
            target.writestr(name, data)
    return path


def files_of(folder, inside=""):
    return [(f"{inside}{path.name}", path.read_bytes()) for path in folder.iterdir()]


def refusal(tmp_path, path):
    """The sentence; nothing may be left behind."""
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    sentence = refusal_of(unpack, path, cache / "unpacked")
    assert list(cache.iterdir()) == []
    assert not (tmp_path.parent / "escaped.json").exists()
    return sentence


@pytest.fixture
def model_zip(tmp_path):
    return write_zip(tmp_path / "model.zip", files_of(HF))


@pytest.mark.parametrize(
    ("source", "inside", "name"),
    [
        (HF, "", "my_model"),
        (GOOGLE, "./", "my_model"),
        (HF, "a/b/uncased_L-3/", "uncased_L-3"),
        (HF, "cased\\", "cased"),  # as some programs of Windows write it
    ],
)
def test_files_come_out_as_they_went_in(tmp_path, source, inside, name):
    path = write_zip(tmp_path / "my model.zip", files_of(source, inside))
    folder = unpack(path, tmp_path / "unpacked")
    assert sorted(files_of(folder)) == sorted(files_of(source))
    assert folder.name == name


def test_what_is_read_of_a_checkpoint_comes_out_and_nothing_else(tmp_path):
    clutter = [
        ("run.py", b"print()"),
        ("pytorch_model.bin", b"pickle"),
        ("__MACOSX/config.json", b"{}"),
        (".DS_Store", b""),
        ("onnx/config.json", b"{}"),
        ("README.txt", b"A model"),
        ("special_tokens_map.json", b"{}"),
        ("inner.zip", b"a bomb"),
    ]
    beside = (*TEXT_FILES, "recipe.json", "README.md", "NOTICE")
    files = dict(files_of(HF)) | dict.fromkeys(beside, b'{"vocab_size": 61}')
    path = write_zip(tmp_path / "c.zip", [*files.items(), *clutter])
    folder = unpack(path, tmp_path / "unpacked")
    assert sorted(files_of(folder)) == sorted(files.items())


def test_what_is_unpacked_already_is_taken_as_it_is(tmp_path, model_zip):
    first = unpack(model_zip, tmp_path / "unpacked")
    (first / "marked.txt").write_text("kept")
    assert (unpack(model_zip, tmp_path / "unpacked") / "marked.txt").is_file()


LINK = zipfile.ZipInfo("tokenizer_config.json")
LINK.external_attr = (stat.S_IFLNK | 0o777) << 16
WITHOUT_WEIGHTS = [file for file in files_of(HF, "m/") if "safetensors" not in file[0]]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([*files_of(HF), ("../escaped.json", b"{}")], "outside its folder"),
        ([*files_of(HF), ("a/../../escaped.json", b"{}")], "outside its folder"),
        ([*files_of(HF), ("..\\escaped.json", b"{}")], "outside its folder"),
        ([*files_of(HF), ("/tmp/escaped.json", b"{}")], "outside its folder"),
        ([*files_of(HF), ("\\escaped.json", b"{}")], "outside its folder"),
        ([*files_of(HF), ("C:escaped.json", b"{}")], "outside its folder"),
        ([*files_of(HF), (LINK, b"/etc/passwd")], "link"),
        ([*files_of(HF), ("config.json", b"{}")], "the same name"),
        ([*files_of(HF, "one/"), *files_of(GOOGLE, "two/")], "contains 2 checkpoints"),
        ([*WITHOUT_WEIGHTS, ("m/pytorch_model.bin", b"\x80\x04")], "pickle"),
        ([("model.safetensors", b"")], "has no config"),
        ([], "has no config"),
    ],
)
def test_a_hostile_or_wrong_list_of_files_refuses_the_whole_file(tmp_path, files, said):
    assert said in refusal(tmp_path, write_zip(tmp_path / "m.zip", files))


def test_a_password_is_said(tmp_path, model_zip):
    assert "password" in refusal(tmp_path, encrypted(model_zip))


def test_a_terabyte_is_refused_by_the_directory_alone(tmp_path):
    """The size that the directory claims; the bytes are never touched."""
    path = write_zip(tmp_path / "huge.zip", files_of(HF))
    with zipfile.ZipFile(path, "a", allowZip64=True) as target:
        target.writestr("vocab.json", b"")
        target.filelist[-1].file_size = 10**12
    total = sum(len(data) for _, data in files_of(HF)) + 10**12
    assert f"is too large. Received: {total} bytes" in refusal(tmp_path, path)


def test_a_bomb_within_the_limit_is_known_by_its_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "RATIO_COUNTS_FROM_BYTES", 10**6)
    bomb = ("second.safetensors", bytes(20_000_000))
    path = write_zip(tmp_path / "bomb.zip", [*files_of(HF), bomb])
    assert path.stat().st_size < 150_000
    assert "is too large" in refusal(tmp_path, path)


def claim_size(path, name, size):
    """Rewrites the uncompressed size of one file, in its header and directory."""
    data = bytearray(path.read_bytes())
    for mark, size_at, name_at in ((b"PK\x03\x04", 22, 30), (b"PK\x01\x02", 24, 46)):
        start = data.find(mark)
        while data[start + name_at : start + name_at + len(name)] != name.encode():
            start = data.find(mark, start + 4)
        data[start + size_at : start + size_at + 4] = struct.pack("<I", size)
    path.write_bytes(data)


@pytest.mark.parametrize("size", [0, 10, 4_000_000])
def test_a_directory_that_lies_is_stopped_while_writing(tmp_path, model_zip, size):
    claim_size(model_zip, "model.safetensors", size)
    refusal(tmp_path, model_zip)


def test_the_limit_counts_all_files_and_holds_for_what_is_written_too(
    tmp_path, model_zip, monkeypatch
):
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 99_700)
    assert "is too large" in refusal(tmp_path, model_zip)
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 100_000)
    assert unpack(model_zip, tmp_path / "unpacked").is_dir()
    monkeypatch.setattr(archive, "_require_size", lambda *_: None)
    # More than the largest file, less than all of them.
    for limit in (70_000, 99_200):
        monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", limit)
        assert "is too large" in refusal(tmp_path, model_zip)


def test_a_full_disk_is_said_before_anything_is_written(
    tmp_path, model_zip, monkeypatch
):
    monkeypatch.setattr(archive, "RESERVED_DISK_BYTES", 10**18)
    assert "is too large" in refusal(tmp_path, model_zip)


def test_too_many_files_are_refused_if_there_are_many_more_before_they_are_parsed(
    tmp_path, monkeypatch
):
    files = [*files_of(HF), *((f"{index}.txt", b"") for index in range(100))]
    path = write_zip(tmp_path / "many.zip", files)
    monkeypatch.setattr(archive, "MAX_FILES", 100)
    assert "contains too many files" in refusal(tmp_path, path)
    monkeypatch.setattr(zipfile, "ZipInfo", None)
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 2_000)
    assert "lists too many files" in refusal(tmp_path, path)


def flipped(data):
    place = data.index(b"bert.encoder.layer.0") + 60_000
    return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        *(lambda data, kept=kept: data[:kept] for kept in (0, 10, 30_000, -30)),
        flipped,
        # A name that is not the UTF-8 that it claims to be.
        lambda data: data.replace("café".encode(), b"caf\xff\xfe"),
    ],
)
def test_a_damaged_zip_is_refused(tmp_path, damage):
    files = [*files_of(HF), ("café.txt", b"")]
    path = write_zip(tmp_path / "m.zip", files, zipfile.ZIP_STORED)
    path.write_bytes(damage(path.read_bytes()))
    assert "damaged" in refusal(tmp_path, path)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_methods_than_the_usual_ones_are_not_tried(tmp_path, method):
    """Python unpacks a piece of them at once, which may be gigabytes."""
    path = write_zip(tmp_path / "m.zip", files_of(HF), method)
    assert f"method {method}" in refusal(tmp_path, path)
