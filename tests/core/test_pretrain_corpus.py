"""Text files, sentences, vocabulary and the encoded corpus."""

import contextlib
import json
import lzma
import shutil
from concurrent.futures import ThreadPoolExecutor

import filelock
import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.cli import main
from bertviz_core.errors import TrainingError
from bertviz_core.trace import SPECIAL_TOKENS
from bertviz_core.training.pretrain import commands
from bertviz_core.training.pretrain import corpus as corpora
from bertviz_core.training.pretrain.corpus import (
    encoded_parts,
    held_out_documents,
    joined,
    open_corpus,
    open_prepared,
    prepare_corpus,
    read_paragraphs,
    train_vocabulary,
    write_corpus,
)
from tests.core import pretrain_samples as samples

TEXT = "\ufeffOne line.\n  Another line.  \n\n \nSecond document.\n"


def test_blank_lines_part_documents_and_lines_are_paragraphs(tmp_path):
    path, packed = tmp_path / "text.txt", tmp_path / "text.txt.xz"
    path.write_text(TEXT, encoding="utf-8")
    packed.write_bytes(lzma.compress(TEXT.encode()))
    expected = [("One line.", 0), ("Another line.", 0), ("Second document.", 1)]
    assert list(read_paragraphs(path)) == list(read_paragraphs(packed)) == expected


def encode(documents, folder, names=("a",), rate=0.1):
    words = samples.tokenizer()
    sentences = samples.owned(documents)
    return write_corpus(sentences, list(names), words, samples.kept(rate), folder)


def prepare_in(folder, paths, asked=None, say=str, **options):
    return prepare_corpus(paths, asked or samples.settings(), folder, say, **options)


def with_words(count, **changes):
    """Settings for a vocabulary of its own."""
    return samples.settings({"vocab_size": count}, **changes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("picture.txt", b"\x89PNG\r\n\x1a\n\xff\xfe", "not plain text"),
        ("zeros.txt", b"words\0words", "not plain text"),
        ("half.xz", lzma.compress(b"words " * 999)[:-20], "not a whole .xz"),
        ("plain.xz", b"words", "not a whole .xz"),
        ("absent.txt", None, "cannot be read"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TrainingError, match=message) as caught:
        list(read_paragraphs(path))
    assert name in str(caught.value)


def test_a_learned_vocabulary_is_complete_but_for_case_and_rare_characters():
    texts = ["The cats sat, the cat sat.", "我喝茶。", "Cats SAT on Mats"] * 5
    pieces = train_vocabulary(texts, 70, lower_case=True)
    assert pieces[:5] == SPECIAL_TOKENS
    assert len(set(pieces)) == len(pieces) <= 70
    assert {"cat", "sat", "我", "茶", "。"} <= set(pieces)
    assert not {"The", "Cats", "喝茶"} & set(pieces)
    with pytest.raises(TrainingError, match="vocab_size=20"):
        train_vocabulary(["words"], 20, True)
    texts = ["aaaa bbbb abab"] * 9 + ["q"]
    assert "q" in train_vocabulary(texts, 64, True)
    assert "q" not in train_vocabulary(texts, 64, True, max_characters=2)


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    documents, folder = samples.documents(40), tmp_path_factory.mktemp("text") / "c"
    numbered = ((index % 2, sentences) for index, sentences in enumerate(documents))
    return documents, encode(numbered, folder, ["even.txt", "odd.txt"]), folder


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "no text"),
        ([(0, ["\x01"])], "no text"),
        ([(0, ["the cat."])], "single document"),
        ([(0, ["the cat."])] * 3, "No space left"),
    ],
)
def test_too_little_text_or_room_is_told_and_leaves_nothing(
    tmp_path, monkeypatch, documents, message
):
    def full(*_):
        raise OSError(28, "No space left on device")

    if len(documents) == 3:
        monkeypatch.setattr(corpora.np, "save", full)
    with pytest.raises(TrainingError, match=message):
        encode(documents, tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == [".corpus.lock"]


def test_parts_and_long_documents_are_encoded_as_they_are_asked_for(encoded):
    documents, whole, _ = encoded
    sentences = samples.owned((i % 2, d) for i, d in enumerate(documents))
    parts = list(encoded_parts(sentences, samples.tokenizer(), 7))
    assert {len(rows) for _, rows in parts[:-1]} == {7}
    tokens = np.concatenate([tokens for tokens, _ in parts])
    assert (tokens == whole.tokens).all()
    for name, values in joined([rows for _, rows in parts]).items():
        assert (values == getattr(whole, name)).all(), name
    # Read as they are asked for.
    waiting = iter(sentences)
    next(encoded_parts(waiting, samples.tokenizer(), 7))
    assert len(list(waiting)) == len(sentences) - 7


def test_an_encoded_corpus_holds_every_sentence_in_its_place(encoded):
    documents, corpus, folder = encoded
    encode_words = samples.tokenizer().encode
    sentences = [s for document in documents for s in document]
    for made in (corpus, open_corpus(folder)):
        assert made.tokens.dtype == np.uint16
        assert made.file_names == ("even.txt", "odd.txt")
        assert made.document_files.tolist() == [0, 1] * 20
        parts = np.split(made.tokens, made.sentence_starts[1:-1])
        for part, text in zip(parts, sentences, strict=True):
            assert part.tolist() == encode_words(text).input_ids[1:-1].tolist()
        assert np.diff(made.document_starts).tolist() == [len(d) for d in documents]
        # A share is kept for evaluation.
        assert made.is_held_out.sum() == 4
        assert (made.is_held_out == corpus.is_held_out).all()


@pytest.mark.parametrize("harm", ["cut", "gone", "layout"])
def test_a_damaged_corpus_is_refused(encoded, tmp_path, harm):
    folder = shutil.copytree(encoded[2], tmp_path / "c")
    if harm == "cut":
        (folder / "tokens.bin").write_bytes((folder / "tokens.bin").read_bytes()[:-6])
    elif harm == "gone":
        (folder / "is_held_out.npy").unlink()
    else:
        index = json.loads((folder / "corpus.json").read_text())
        (folder / "corpus.json").write_text(json.dumps(index | {"layout": 0}))
    with pytest.raises(TrainingError, match="damaged"):
        open_corpus(folder)


def test_text_is_encoded_once_and_anew_when_it_or_a_setting_changes(tmp_path):
    path, said, cache = samples.write_text(tmp_path / "a.txt"), [], tmp_path / "cache"
    asked = with_words(99)
    first = prepare_in(cache, [path], asked, said.append)
    assert said[0] == "Learning word pieces"
    count = len(said)
    assert prepare_in(cache, [path], asked, said.append) == first
    assert prepare_in(cache, [first], asked, said.append) == first
    assert len(said) == count
    cased = with_words(99, corpus={"lower_case": False})
    assert prepare_in(cache, [path], cased) != first
    samples.write_text(path, seed=2)
    assert prepare_in(cache, [path], asked) != first


def test_a_vocabulary_file_must_have_as_many_words_as_the_model(tmp_path):
    path = samples.write_text(tmp_path / "a.txt")
    (tmp_path / "vocab.txt").write_text("\n".join(samples.VOCABULARY))
    given = {"vocabulary_file": str(tmp_path / "vocab.txt")}
    asked = samples.settings(corpus=given)
    folder = prepare_in(tmp_path / "cache", [path], asked)
    assert open_prepared(folder, asked)[1].vocabulary == samples.VOCABULARY
    with pytest.raises(TrainingError, match=r"21 word pieces; vocab_size=50"):
        prepare_in(tmp_path / "cache", [path], with_words(50, corpus=given))
    with pytest.raises(TrainingError, match=r"21 word pieces; vocab_size=11"):
        open_prepared(folder, with_words(11))


def test_a_weight_of_a_file_that_is_not_there_is_refused(tmp_path):
    path, said = samples.write_text(tmp_path / "a.txt"), []
    asked = with_words(99, corpus={"weights": {"b.txt": 2}})
    with pytest.raises(TrainingError, match=r"b\.txt\. In the corpus: a\.txt"):
        prepare_in(tmp_path / "cache", [path], asked, said.append)
    assert said == []  # before the minutes that encoding takes
    folder = prepare_in(tmp_path / "cache", [path], with_words(99))
    with pytest.raises(TrainingError, match=r"b\.txt\. In the corpus: a\.txt"):
        open_prepared(folder, asked)


@pytest.mark.parametrize("num_asked", [1, 50, 250])
def test_a_stop_while_text_is_encoded_leaves_nothing(tmp_path, num_asked):
    """Before, in the first reading, which learns the pieces, and in the second."""
    path, cache, asked = samples.write_text(tmp_path / "a.txt"), tmp_path / "cache", []

    def should_stop():
        asked.append(True)
        return len(asked) == num_asked

    assert prepare_in(cache, [path], with_words(99), should_stop=should_stop) is None
    assert len(asked) == num_asked
    lock = cache / ".corpus.lock"
    assert {*tmp_path.rglob("*")} in ({path}, {path, cache, lock})


def test_who_waits_for_another_process_is_told_and_can_stop(tmp_path):
    path, told = samples.write_text(tmp_path / "a.txt"), []
    other = filelock.FileLock(tmp_path / ".corpus.lock", thread_local=False)
    with ThreadPoolExecutor(1) as another:
        another.submit(other.acquire).result()
    found = prepare_in(
        tmp_path,
        [path],
        with_words(99),
        say=told.append,
        should_stop=lambda: "Waiting" in str(told),
    )
    other.release()
    assert found is None
    assert told[-1].startswith("Stopped")
    assert prepare_in(tmp_path, [path], with_words(99)).parent == tmp_path


def test_more_than_256_text_files_stay_apart(tmp_path):
    documents = [(i, ["the cat purrs."]) for i in range(300)]
    corpus = encode(documents, tmp_path / "c", [f"{i}.txt" for i in range(300)])
    assert corpus.document_files.tolist() == list(range(300))


@pytest.mark.parametrize(
    ("text", "message"),
    [("The cat purrs.\nThe dog barks.\n", "single document"), ("\n \n", "no text")],
)
@pytest.mark.parametrize("is_given", [False, True])
def test_a_single_document_is_refused_before_words_are_learnt_or_encoded(
    tmp_path, monkeypatch, text, message, is_given
):
    path = tmp_path / "a.txt"
    path.write_text(text)
    monkeypatch.setattr(corpora, "train_vocabulary", None)
    monkeypatch.setattr(corpora, "write_corpus", None)
    words, said = samples.tokenizer() if is_given else None, []
    with pytest.raises(TrainingError, match=message):
        prepare_in(tmp_path, [path], say=said.append, words=words)
    assert said == []


def test_two_files_of_a_document_each_are_two_documents(tmp_path):
    paths, said = [tmp_path / "a.txt", tmp_path / "b.txt"], []
    for path, noun in zip(paths, ("cat", "dog"), strict=True):
        path.write_text(f"The {noun} purrs.")
    words = samples.tokenizer()
    folder = prepare_in(tmp_path / "c", paths, say=said.append, words=words)
    assert open_corpus(folder).num_documents == 2
    assert "5 tokens (documents: 1); kept apart: 5 (documents: 1)" in said[-1]


def test_the_same_text_twice_and_two_files_of_one_name_are_refused(tmp_path):
    first = samples.write_text(tmp_path / "a.txt")
    second = samples.write_text(tmp_path / "b.txt")
    for paths in ([first, second], [first, first]):
        with pytest.raises(TrainingError, match=rf"twice.*a\.txt and {paths[1].name}"):
            prepare_in(tmp_path / "c", paths)
    (tmp_path / "more").mkdir()
    other = samples.write_text(tmp_path / "more" / "a.txt", seed=2)
    with pytest.raises(TrainingError, match=r"same name. Received: a\.txt"):
        prepare_in(tmp_path / "c", [first, other])


# What the models that ship were never trained on hangs on this rule.
@pytest.mark.parametrize(
    ("rate", "count", "first"),
    [(0.004, 4, [162, 206, 222, 459]), (0.1, 100, [2, 8, 12, 25])],
)
def test_of_many_documents_the_same_are_always_held_out(rate, count, first):
    lengths = np.random.default_rng(5).lognormal(5, 1, 1000).astype(int) + 1
    held_out = held_out_documents(lengths, rate)
    drawn = np.random.default_rng(0).permutation(1000)[:count]
    assert np.flatnonzero(held_out).tolist() == sorted(drawn)
    assert np.flatnonzero(held_out)[:4].tolist() == first


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5])
@pytest.mark.parametrize(
    "lengths", [[3, 9000], [9000, 3], [5, 5], [1, 1, 1, 9000, 1], [9000, 1, 1, 1, 1]]
)
def test_most_of_the_text_is_never_kept_apart(lengths, rate):
    lengths = np.array(lengths)
    held_out = held_out_documents(lengths, rate)
    assert held_out.any()
    assert lengths[~held_out].sum() >= lengths.sum() * (1 - rate) / 2


def test_what_a_killed_process_left_is_cleared_away_once_no_other_writes(tmp_path):
    """Also over other text."""
    left, lock = tmp_path / f".{'0a' * 16}.new", tmp_path / ".corpus.lock"
    left.mkdir()
    (left / "tokens.bin").write_bytes(b"12")
    with ThreadPoolExecutor() as pool:
        with filelock.FileLock(lock):
            encoding = pool.submit(encode, [(0, ["the cat."])] * 3, tmp_path / "c")
            with pytest.raises(TimeoutError):
                encoding.result(0.3)
            assert left.exists()
        encoding.result()
    assert {*tmp_path.iterdir()} == {lock, tmp_path / "c"}


def test_encoding_alone_stops_when_asked_and_leaves_nothing(tmp_path, monkeypatch):
    text = samples.write_text(tmp_path / "text.txt")
    (tmp_path / "settings.json").write_text(json.dumps(samples.settings().to_dict()))
    stopping = contextlib.nullcontext(lambda: True)
    monkeypatch.setattr(commands, "stop_on_signal", lambda: stopping)
    options = ["--config", f"{tmp_path}/settings.json", "--out", f"{tmp_path}/run"]
    options += ["--prepare-only", "--corpus", str(text)]
    result = CliRunner().invoke(main, ["pretrain", *options])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Stopped while the text was being encoded")
    assert not (tmp_path / "run").exists()
