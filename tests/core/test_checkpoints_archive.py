"""Zip files from strangers: what they hold is taken, what they try is refused."""

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from bertviz_core.checkpoints import archive, library
from bertviz_core.checkpoints.archive import unpack
from bertviz_core.checkpoints.folder import TEXT_FILES
from bertviz_core.errors import CheckpointError
from tests.core.checkpoint_copies import GOOGLE, HF


def write_zip(path, files, method=zipfile.ZIP_DEFLATED):
    """Files as pairs of name or `ZipInfo` and bytes."""
    with zipfile.ZipFile(path, "w", method) as target:
        for name, data in files:
            target.writestr(name, data)
    return path


def files_of(folder, inside=""):
    return [(f"{inside}{path.name}", path.read_bytes()) for path in folder.iterdir()]


def refusal(tmp_path, path, **limits):
    """The sentence; nothing may be left behind."""
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    with pytest.raises(CheckpointError) as caught:
        unpack(path, cache / "unpacked", **limits)
    assert list(cache.iterdir()) == []
    assert not (tmp_path.parent / "escaped.json").exists()
    return str(caught.value)


@pytest.fixture
def model_zip(tmp_path):
    return write_zip(tmp_path / "model.zip", files_of(HF))


@pytest.mark.parametrize("inside", ["", "uncased_L-3/", "a/b/uncased_L-3/", "./"])
@pytest.mark.parametrize("source", [HF, GOOGLE])
def test_files_come_out_as_they_went_in(tmp_path, inside, source):
    path = write_zip(tmp_path / "my model.zip", files_of(source, inside))
    folder = unpack(path, tmp_path / "unpacked")
    assert sorted(files_of(folder)) == sorted(files_of(source))
    assert folder.name == ("uncased_L-3" if "uncased" in inside else "my_model")


def test_backslashes_of_windows_programs_are_folders(tmp_path):
    path = write_zip(tmp_path / "w.zip", files_of(HF, "cased\\"))
    assert unpack(path, tmp_path / "unpacked").name == "cased"


def test_only_what_a_checkpoint_needs_comes_out(tmp_path):
    clutter = [
        ("run.py", b"print()"),
        ("pytorch_model.bin", b"pickle"),
        ("training_args.bin", b"pickle"),
        ("__MACOSX/config.json", b"{}"),
        (".DS_Store", b""),
        ("onnx/config.json", b"{}"),
        ("README.md", b"# A model"),
        ("README.txt", b"A model"),
        ("predictions.txt", b"yes"),
        ("special_tokens_map.json", b"{}"),
        ("labels.json", b"[]"),
    ]
    path = write_zip(tmp_path / "c.zip", files_of(HF) + clutter)
    folder = unpack(path, tmp_path / "unpacked")
    assert sorted(files_of(folder)) == sorted(files_of(HF))


@pytest.mark.parametrize("name", [*TEXT_FILES, "recipe.json"])
def test_whatever_is_read_beside_the_weights_comes_out(tmp_path, name):
    files = dict(files_of(HF)) | {name: b'{"vocab_size": 61}'}
    path = write_zip(tmp_path / "m.zip", files.items())
    found = unpack(path, tmp_path / "unpacked")
    assert sorted(files_of(found)) == sorted(files.items())


def test_what_is_unpacked_already_is_taken_as_it_is(tmp_path, model_zip):
    first = unpack(model_zip, tmp_path / "unpacked")
    (first / "marked.txt").write_text("kept")
    assert (unpack(model_zip, tmp_path / "unpacked") / "marked.txt").is_file()


@pytest.mark.parametrize(
    "name",
    [
        "../escaped.json",
        "a/../../escaped.json",
        "..\\escaped.json",
        "/tmp/escaped.json",
        "\\escaped.json",
        "C:\\escaped.json",
        "C:escaped.json",
    ],
)
def test_a_path_out_of_the_folder_refuses_the_whole_file(tmp_path, name):
    path = write_zip(tmp_path / "evil.zip", [*files_of(HF), (name, b"{}")])
    assert "outside its folder" in refusal(tmp_path, path)


def test_a_link_refuses_the_whole_file(tmp_path):
    link = zipfile.ZipInfo("tokenizer_config.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = write_zip(tmp_path / "link.zip", [*files_of(HF), (link, b"/etc/passwd")])
    assert "link" in refusal(tmp_path, path)


def test_a_password_is_said(tmp_path, model_zip):
    data = bytearray(model_zip.read_bytes())
    # Bit 0 of the flags of the first entry of the directory.
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1
    model_zip.write_bytes(data)
    assert "password" in refusal(tmp_path, model_zip)


def test_a_terabyte_is_refused_by_the_directory_alone(tmp_path, model_zip):
    """The size that the directory claims; the bytes are never touched."""
    path = tmp_path / "huge.zip"
    claim = 10**12
    with zipfile.ZipFile(path, "w", allowZip64=True) as target:
        for name, data in files_of(HF):
            target.writestr(name, data)
        target.filelist[-1].file_size = claim
    sentence = refusal(tmp_path, path)
    assert "too much room" in sentence
    total = sum(len(data) for _, data in files_of(HF)[:-1]) + claim
    assert str(total) in sentence


def test_a_bomb_within_the_limit_is_known_by_its_ratio(tmp_path):
    zeros = b"\0" * 150_000_000
    path = write_zip(
        tmp_path / "bomb.zip", [*files_of(HF), ("second.safetensors", zeros)]
    )
    assert path.stat().st_size < 500_000
    assert "too much room" in refusal(tmp_path, path)


def test_a_bomb_within_a_bomb_is_not_unpacked(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("config.json", b"{}" * 10_000)
    files = [*files_of(HF), ("inner.zip", inner.getvalue())]
    folder = unpack(write_zip(tmp_path / "n.zip", files), tmp_path / "unpacked")
    assert not (folder / "inner.zip").exists()


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


def test_the_limit_holds_for_what_is_written_too(tmp_path, model_zip, monkeypatch):
    monkeypatch.setattr(archive, "_require_size", lambda *_: None)
    assert "too much room" in refusal(tmp_path, model_zip, max_bytes=70_000)
    # More than the largest file, less than all of them.
    assert "too much room" in refusal(tmp_path, model_zip, max_bytes=99_200)


def test_the_limit_counts_all_files_together(tmp_path, model_zip):
    assert "too much room" in refusal(tmp_path, model_zip, max_bytes=99_700)
    assert unpack(model_zip, tmp_path / "unpacked", max_bytes=100_000).is_dir()


def test_a_full_disk_is_said_before_anything_is_written(
    tmp_path, model_zip, monkeypatch
):
    monkeypatch.setattr(archive, "RESERVED_DISK_BYTES", 10**18)
    assert "too much room" in refusal(tmp_path, model_zip)


def test_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_FILES", 6)
    extra = [(f"{index}.txt", b"") for index in range(5)]
    path = write_zip(tmp_path / "many.zip", [*files_of(HF), *extra])
    assert "too many files" in refusal(tmp_path, path)


def test_a_huge_list_of_files_is_refused_before_it_is_parsed(tmp_path, monkeypatch):
    files = [*files_of(HF), *((f"{index}.txt", b"") for index in range(100))]
    path = write_zip(tmp_path / "many.zip", files)
    made = []
    monkeypatch.setattr(zipfile, "ZipInfo", lambda *_: made.append(1))
    monkeypatch.setattr(archive, "MAX_DIRECTORY_BYTES", 2_000)
    assert "lists too many files" in refusal(tmp_path, path)
    assert made == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name(tmp_path):
    files = [*files_of(HF), ("config.json", b"{}")]
    assert "one name" in refusal(tmp_path, write_zip(tmp_path / "t.zip", files))


def test_two_checkpoints(tmp_path):
    files = files_of(HF, "one/") + files_of(GOOGLE, "two/")
    path = write_zip(tmp_path / "two.zip", files)
    assert "holds 2 checkpoints" in refusal(tmp_path, path)


def test_a_zip_without_config(tmp_path):
    files = [file for file in files_of(HF) if file[0] != "config.json"]
    path = write_zip(tmp_path / "n.zip", files)
    assert "has no config" in refusal(tmp_path, path)


def test_an_empty_zip(tmp_path):
    assert "has no config" in refusal(tmp_path, write_zip(tmp_path / "e.zip", []))


def test_a_zip_of_a_pickle(tmp_path):
    files = [(n, d) for n, d in files_of(HF, "m/") if "safetensors" not in n]
    path = write_zip(tmp_path / "p.zip", [*files, ("m/pytorch_model.bin", b"\x80\x04")])
    assert "pickle" in refusal(tmp_path, path)


@pytest.mark.parametrize("kept", [0, 10, 30_000, -30])
def test_a_zip_that_is_cut_short(tmp_path, model_zip, kept):
    model_zip.write_bytes(model_zip.read_bytes()[:kept])
    assert "not a zip file, or it is damaged" in refusal(tmp_path, model_zip)


def test_a_zip_with_a_flipped_bit(tmp_path):
    path = write_zip(tmp_path / "m.zip", files_of(HF), zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    start = data.index(b"bert.encoder.layer.0")
    data[start + 60_000] ^= 4
    path.write_bytes(data)
    assert "damaged" in refusal(tmp_path, path)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_other_methods_than_the_usual_ones_are_not_tried(tmp_path, method, is_damaged):
    """Python unpacks a piece of them at once, which may be gigabytes."""
    path = write_zip(tmp_path / "m.zip", files_of(HF), method)
    if is_damaged:
        data = bytearray(path.read_bytes())
        data[60:90] = b"\xff" * 30
        path.write_bytes(data)
    sentence = refusal(tmp_path, path)
    assert f"method {method}" in sentence
    assert "usual settings" in sentence


def test_a_name_that_is_not_the_utf8_that_it_claims_to_be(tmp_path):
    path = write_zip(tmp_path / "n.zip", [*files_of(HF), ("café.txt", b"")])
    data = path.read_bytes()
    assert data.count("café".encode()) == 2
    path.write_bytes(data.replace("café".encode(), b"caf\xff\xfe"))
    assert "damaged" in refusal(tmp_path, path)


def test_something_else_than_a_zip(tmp_path):
    path = tmp_path / "photo.zip"
    path.write_bytes(os.urandom(1234))
    assert "not a zip file" in refusal(tmp_path, path)


def test_unpacking_never_leaves_the_cache(tmp_path, monkeypatch):
    """Every name that is written is one flat file in one new folder."""
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path / "cache"))
    path = write_zip(tmp_path / "m.zip", files_of(HF, "..uncased/"))
    library.add_upload(path)
    found = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert {len(p.relative_to(tmp_path / "cache").parts) for p in found} <= {3, 4}
    assert {p.name for p in found} == {
        "entry.json",
        *(Path(name).name for name, _ in files_of(HF)),
    }
