"""Text files, sentences, vocabulary and the encoded corpus."""

import json
import lzma

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.pretrain import corpus as corpora
from bertviz_core.pretrain.corpus import open_corpus, write_corpus
from bertviz_core.pretrain.prepare import Stopped, open_prepared, prepare_corpus
from bertviz_core.pretrain.text_files import read_documents
from bertviz_core.pretrain.vocabulary import train_vocabulary
from bertviz_core.tokenizer import SPECIAL_TOKENS
from tests.core import pretrain_samples as samples

TEXT = "\ufeffOne line.\n  Another line.  \n\n \nSecond document.\n"


def test_blank_lines_part_documents_and_lines_are_paragraphs(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    expected = [["One line.", "Another line."], ["Second document."]]
    assert list(read_documents(path)) == expected


def test_a_compressed_file_reads_like_a_plain_one(tmp_path):
    path = tmp_path / "text.txt.xz"
    path.write_bytes(lzma.compress(TEXT.encode()))
    assert list(read_documents(path))[1] == ["Second document."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("picture.txt", b"\x89PNG\r\n\x1a\n\xff\xfe", "not plain text"),
        ("zeros.txt", b"words\0words", "not plain text"),
        ("half.xz", lzma.compress(b"words " * 999)[:-20], "not a whole .xz"),
        ("plain.xz", b"words", "not a whole .xz"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TrainingError, match=message) as caught:
        list(read_documents(path))
    assert name in str(caught.value)


def test_an_absent_file_is_refused_by_name(tmp_path):
    with pytest.raises(TrainingError, match=r"absent\.txt"):
        list(read_documents(tmp_path / "absent.txt"))


def test_a_learned_vocabulary_is_lower_case_complete_and_no_larger_than_asked():
    texts = ["The cats sat, the cat sat.", "我喝茶。", "Cats SAT on Mats"] * 5
    pieces = train_vocabulary(texts, 70, lower_case=True)
    assert pieces[:5] == SPECIAL_TOKENS
    assert len(set(pieces)) == len(pieces) <= 70
    assert {"cat", "sat", "我", "茶", "。"} <= set(pieces)
    assert not {"The", "Cats", "喝茶"} & set(pieces)


def test_a_learned_vocabulary_leaves_rare_characters_out_when_told():
    texts = ["aaaa bbbb abab"] * 9 + ["q"]
    assert "q" in train_vocabulary(texts, 64, True)
    assert "q" not in train_vocabulary(texts, 64, True, max_characters=2)


def test_a_vocabulary_without_room_for_letters_is_refused():
    with pytest.raises(TrainingError, match="vocab_size=20"):
        train_vocabulary(["words"], 20, True)


@pytest.fixture
def encoded(tmp_path):
    documents = samples.documents(40)
    numbered = ((index % 2, sentences) for index, sentences in enumerate(documents))
    names = ["even.txt", "odd.txt"]
    made = write_corpus(
        numbered, names, samples.tokenizer(), samples.kept(0.1), tmp_path / "c"
    )
    return documents, made, tmp_path / "c"


def test_an_encoded_corpus_holds_every_sentence_in_its_place(encoded):
    documents, corpus, folder = encoded
    tokenizer = samples.tokenizer()
    for made in (corpus, open_corpus(folder)):
        assert made.tokens.dtype == np.uint16
        assert made.file_names == ("even.txt", "odd.txt")
        assert made.document_files.tolist() == [0, 1] * 20
        sentences = [s for document in documents for s in document]
        assert len(made.sentence_starts) == len(sentences) + 1
        for index, text in enumerate(sentences):
            part = made.tokens[
                made.sentence_starts[index] : made.sentence_starts[index + 1]
            ]
            assert part.tolist() == tokenizer.encode(text).input_ids[1:-1].tolist()
        assert np.diff(made.document_starts).tolist() == [len(d) for d in documents]


def test_a_share_of_the_documents_is_kept_for_evaluation(encoded):
    _, corpus, folder = encoded
    assert corpus.is_held_out.sum() == 4
    assert (open_corpus(folder).is_held_out == corpus.is_held_out).all()


def test_documents_encoded_in_parts_are_those_encoded_at_once(encoded, monkeypatch):
    documents, whole, _ = encoded
    numbered = [(0, sentences) for sentences in documents]
    parts = list(corpora._encoded_parts(iter(numbered), samples.tokenizer(), 7))
    assert len(parts) > 3
    tokens = np.concatenate([part.tokens for part in parts])
    assert (tokens == whole.tokens).all()
    starts = corpora._joined(parts)["sentence_starts"]
    assert (starts == whole.sentence_starts).all()


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "no text"),
        ([(0, ["\x01"])], "no text"),
        ([(0, ["the cat."])], "single document"),
    ],
)
def test_too_little_text_is_refused_and_leaves_nothing(tmp_path, documents, message):
    with pytest.raises(TrainingError, match=message):
        write_corpus(
            iter(documents),
            ["a"],
            samples.tokenizer(),
            samples.kept(0.1),
            tmp_path / "c",
        )
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corpora.np, "save", full)
    with pytest.raises(TrainingError, match="No space left"):
        write_corpus(
            iter([(0, ["the cat."])] * 3),
            ["a"],
            samples.tokenizer(),
            samples.kept(0.1),
            tmp_path / "c",
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", ["cut", "gone", "layout"])
def test_a_damaged_corpus_is_refused(encoded, harm):
    _, _, folder = encoded
    if harm == "cut":
        content = (folder / "tokens.bin").read_bytes()
        (folder / "tokens.bin").unlink()  # it is mapped: a new file, not the same
        (folder / "tokens.bin").write_bytes(content[:-6])
    elif harm == "gone":
        (folder / "is_held_out.npy").unlink()
    else:
        index = json.loads((folder / "corpus.json").read_text())
        (folder / "corpus.json").write_text(json.dumps(index | {"layout": 0}))
    with pytest.raises(TrainingError, match="damaged"):
        open_corpus(folder)


def test_text_is_encoded_once_and_anew_when_it_or_a_setting_changes(tmp_path):
    path, said = samples.write_text(tmp_path / "a.txt"), []
    asked = samples.settings(
        model=samples.settings().model.to_dict() | {"vocab_size": 99}
    )
    first = prepare_corpus([path], asked, tmp_path / "cache", said.append)
    assert said[0] == "Learning word pieces"
    count = len(said)
    assert prepare_corpus([path], asked, tmp_path / "cache", said.append) == first
    assert prepare_corpus([first], asked, tmp_path / "cache", said.append) == first
    assert len(said) == count
    cased = samples.settings(model=asked.model.to_dict(), corpus={"lower_case": False})
    assert prepare_corpus([path], cased, tmp_path / "cache", said.append) != first
    samples.write_text(path, seed=2)
    assert prepare_corpus([path], asked, tmp_path / "cache", said.append) != first


def test_a_vocabulary_file_must_have_as_many_words_as_the_model(tmp_path):
    path = samples.write_text(tmp_path / "a.txt")
    (tmp_path / "vocab.txt").write_text("\n".join(samples.VOCABULARY))
    given = {"vocabulary_file": str(tmp_path / "vocab.txt")}
    asked = samples.settings(corpus=given)
    folder = prepare_corpus([path], asked, tmp_path / "cache", str)
    assert open_prepared(folder, asked)[1].vocabulary == samples.VOCABULARY
    model = asked.model.to_dict() | {"vocab_size": 50}
    wrong = samples.settings(corpus=given, model=model)
    with pytest.raises(TrainingError, match=r"21 word pieces; vocab_size=50"):
        prepare_corpus([path], wrong, tmp_path / "cache", str)
    model = asked.model.to_dict() | {"vocab_size": 11}
    with pytest.raises(TrainingError, match=r"21 word pieces; vocab_size=11"):
        open_prepared(folder, samples.settings(model=model))


def test_a_weight_of_a_file_that_is_not_there_is_refused(tmp_path):
    path = samples.write_text(tmp_path / "a.txt")
    asked = samples.settings(
        corpus={"weights": {"b.txt": 2}},
        model=samples.settings().model.to_dict() | {"vocab_size": 99},
    )
    said = []
    with pytest.raises(TrainingError, match=r"b\.txt\. In the corpus: a\.txt"):
        prepare_corpus([path], asked, tmp_path / "cache", said.append)
    assert said == []  # before the minutes that encoding takes
    even = samples.settings(model=asked.model.to_dict())
    folder = prepare_corpus([path], even, tmp_path / "cache", str)
    with pytest.raises(TrainingError, match=r"b\.txt\. In the corpus: a\.txt"):
        open_prepared(folder, asked)


@pytest.mark.parametrize("num_asked", [1, 90])
def test_a_stop_while_text_is_encoded_leaves_nothing(tmp_path, num_asked):
    """In the first reading, which learns the pieces, and in the second."""
    path = samples.write_text(tmp_path / "a.txt")
    model = samples.settings().model.to_dict() | {"vocab_size": 99}
    asked = []

    def should_stop():
        asked.append(True)
        return len(asked) == num_asked

    with pytest.raises(Stopped):
        prepare_corpus(
            [path],
            samples.settings(model=model),
            tmp_path / "cache",
            str,
            should_stop,
        )
    assert len(asked) == num_asked
    assert [*tmp_path.rglob("*")] in ([path], [tmp_path / "cache", path])


def test_more_than_256_text_files_stay_apart(tmp_path):
    documents = [(i, ["the cat purrs."]) for i in range(300)]
    names = [f"{i}.txt" for i in range(300)]
    folder = tmp_path / "corpus"
    corpus = write_corpus(
        iter(documents), names, samples.tokenizer(), samples.kept(0.1), folder
    )
    assert corpus.document_files.tolist() == list(range(300))
