"""What is measured on unseen text, with models whose answers are known."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bertviz_core.checkpoints.catalogue import BUNDLED_FOLDER
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.cli import main
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.pretrain.corpus import open_corpus, write_corpus
from bertviz_core.training.pretrain.evaluate import (
    ClozeItem,
    evaluate_mlm,
    evaluate_nsp,
    make_windows,
    read_cloze,
    score_cloze,
)
from bertviz_core.training.pretrain.masking import TokenKinds
from bertviz_core.training.pretrain.sequences import IS_NEXT, IS_RANDOM
from tests.core import pretrain_samples as samples
from tests.core.bundled import open_bundled

KINDS = samples.kinds()
SIZE = len(samples.VOCABULARY)
WINDOW = 20


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Less than a pass takes elsewhere, which a short text does not fill."""
    monkeypatch.setattr("bertviz_core.training.pretrain.evaluate._BATCH_TOKENS", 512)


class KnownModel:
    """Answers from what it is told; keeps what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def __call__(self, inputs, outputs):
        self.asked.append(inputs)
        (name,) = outputs
        return {name: self.answer(inputs)}


def told_of(windows, logits_of):
    """A model that knows the windows: `logits_of` places and their right words."""
    left = list(windows)

    def answer(inputs):
        batch = np.array(left[: len(inputs["input_ids"])])
        del left[: len(batch)]
        places = inputs["mlm_positions"]
        return logits_of(places, batch.reshape(-1)[places])

    return KnownModel(answer)


def uniform():
    return KnownModel(lambda inputs: np.zeros((len(inputs["mlm_positions"]), SIZE)))


@pytest.fixture(scope="module")
def corpus():
    return samples.corpus(70)


@pytest.fixture(scope="module")
def windows(corpus):
    return make_windows(corpus, np.arange(70), WINDOW, KINDS)


def test_windows_hold_every_word_once_and_never_cross_a_document(corpus, windows):
    bounds = corpus.sentence_starts[corpus.document_starts]
    row = 0
    for document in range(70):
        words = corpus.tokens[bounds[document] : bounds[document + 1]].tolist()
        while words:
            part, words = words[: WINDOW - 2], words[WINDOW - 2 :]
            expected = [2, *part, 3] + [0] * (WINDOW - 2 - len(part))
            assert windows[row].tolist() == expected
            row += 1
    assert row == len(windows)


def test_fifteen_in_a_hundred_words_are_hidden_all_behind_mask(windows):
    model, again = uniform(), uniform()
    scores = evaluate_mlm(model, windows, KINDS)
    hidden = sum((a["input_ids"] == KINDS.mask_token_id).sum() for a in model.asked)
    assert scores["num_words"] == hidden
    assert 0.12 < hidden / (~KINDS.is_special[windows]).sum() < 0.18
    assert np.isclose(scores["loss"], np.log(SIZE))
    assert (scores["top1"], scores["top5"]) == (0, 0)  # a tie is no answer
    evaluate_mlm(again, windows, KINDS)
    for first, second in zip(model.asked, again.asked, strict=True):
        assert (first["input_ids"] == second["input_ids"]).all()


def test_words_are_counted_right_by_their_rank(windows):
    def logits_of(places, right):
        """The right word k-th, k = 0, 3 and 7 in turn, behind words of no meaning."""
        logits = np.empty((len(places), SIZE))
        for row, word in enumerate(right):
            order = np.insert(
                np.delete(np.arange(SIZE), word), (0, 3, 7)[row % 3], word
            )
            logits[row, order] = -np.arange(SIZE)
        return logits

    scores = evaluate_mlm(told_of(windows, logits_of), windows, KINDS)
    assert abs(scores["top1"] - 1 / 3) < 0.02
    assert abs(scores["top5"] - 2 / 3) < 0.02
    total = np.log(np.exp(-np.arange(SIZE)).sum())
    assert abs(scores["loss"] - (total + (0 + 3 + 7) / 3)) < 0.1


def test_words_are_counted_by_their_position_in_the_window():
    """The right word comes first at the first 128 positions, last behind them."""
    rng = np.random.default_rng(0)
    windows = rng.integers(5, SIZE, (5, 200)).astype("int32")
    windows[:, 0], windows[:, 199] = KINDS.cls_token_id, KINDS.sep_token_id
    windows[4, 100:] = KINDS.pad_token_id

    def logits_of(places, right):
        logits = np.zeros((len(places), SIZE))
        logits[np.arange(len(places)), right] = np.where(places % 200 < 128, 9.0, -9.0)
        return logits

    scores = evaluate_mlm(told_of(windows, logits_of), windows, KINDS)
    near, far = scores["by_position"]
    counts = near.pop("num_words"), far.pop("num_words")
    assert near == {"first": 0, "last": 127, "top1": 1.0}
    assert far == {"first": 128, "last": 255, "top1": 0.0}
    assert sum(counts) == scores["num_words"]
    assert np.isclose(scores["top1"], counts[0] / scores["num_words"])


def test_unknown_words_are_not_asked_for(windows):
    unknown, model = np.where(windows == 5, 1, windows), uniform()
    evaluate_mlm(model, unknown, KINDS)
    shown = np.concatenate([asked["input_ids"] for asked in model.asked])
    assert (shown == 1).sum() >= (unknown == 1).sum()
    with pytest.raises(TrainingError, match="no word to hide"):
        evaluate_mlm(uniform(), np.array([[2, 1, 3, 0]]), KINDS)


@pytest.mark.parametrize(("answer", "expected"), [("right", 1.0), ("wrong", 0.0)])
def test_next_sentences_are_counted_by_the_label_of_the_paper(corpus, answer, expected):
    """Every word of this text is another one, so that what follows is known."""
    numbers = np.arange(len(corpus.tokens), dtype="int32") + SIZE
    numbered = dataclasses.replace(corpus, tokens=numbers)

    def told(inputs):
        logits = np.zeros((len(inputs["input_ids"]), 2))
        for row, ids in enumerate(inputs["input_ids"]):
            of_b = np.flatnonzero(inputs["token_type_ids"][row] == 1)
            is_next = ids[of_b[0]] == ids[of_b[0] - 2] + 1
            right = IS_NEXT if is_next else IS_RANDOM
            logits[row, right if answer == "right" else 1 - right] = 1.0
            seen = np.arange(24) <= of_b[-1]
            assert inputs["attention_mask"][row].tolist() == seen.tolist()
        return logits

    scores = evaluate_nsp(KnownModel(told), numbered, np.arange(70), 24, KINDS, 60)
    assert scores["num_pairs"] == 60
    assert scores["nsp_accuracy"] == expected


def test_text_without_pairs_has_no_next_sentence_score():
    corpus = samples.encoded([["the cat."]])
    found = evaluate_nsp(KnownModel(None), corpus, np.arange(1), 24, KINDS)
    assert found == {"nsp_accuracy": None, "num_pairs": 0}


def test_cloze_answers_count_first_and_among_five():
    guess = samples.VOCABULARY[0]  # of the lowest id, which judges may find sensible
    items = tuple(
        ClozeItem(
            f"the {noun} [MASK]s.", (verb, "nothing"), (guess,) * (noun == "fish")
        )
        for noun, verb in zip(samples.NOUNS, samples.VERBS, strict=True)
    )
    wanted = [samples.VOCABULARY.index(verb) for verb in samples.VERBS]

    def answer(inputs):
        logits = np.tile(-np.arange(SIZE, dtype=float), (5, 1))
        logits[0, wanted[0]] = 9.0  # first
        logits[1, wanted[1]] = -3.5  # fifth, after the four of lowest id
        logits[2, wanted[2]] = -4.5  # sixth
        return logits

    scores = score_cloze(KnownModel(answer), samples.tokenizer(), items)
    assert scores == {
        "cloze_top1": 0.2,
        "cloze_top5": 0.4,
        "num_cloze": 5,
        "cloze_judged_top1": 0.4,
        "cloze_judged_top5": 0.6,
    }


CLOZE_FOLDER = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_card_of_a_bundled_model_has_its_cloze_scores(language):
    model = f"bert-mini-{language}"
    card = (BUNDLED_FOLDER / model / "README.md").read_text("utf-8")
    explorer, found = open_bundled(model), []
    for name, count in (("", 100), ("_2", 60), ("_3", 60), ("_everyday", 200)):
        items = read_cloze(CLOZE_FOLDER / f"cloze_{language}{name}.json")
        assert len(items) == len({item.text for item in items}) == count
        for item in items:
            words = item.answers + item.judged
            assert len(set(words)) == len(words)
            assert all(word == word.strip().lower() for word in words)
        found.append(score_cloze(explorer.forward, explorer.tokenizer, items))
    shares = [found[0]["cloze_top1"], found[0]["cloze_top5"]]
    for scores in found:
        shares += [scores["cloze_judged_top1"], scores["cloze_judged_top5"]]
    table = card[card.index("| 100 everyday cloze") :].splitlines()
    stated = [int(line.split("|")[2].strip(" %")) for line in table[: len(shares)]]
    assert stated == [round(100 * share) for share in shares]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "does not contain cloze"),
        ('[{"text": "no answers [MASK]"}]', "does not contain cloze"),
        ("[]", "does not contain cloze"),
        ('[{"text": "a [MASK]", "answers": "word"}]', "does not contain cloze"),
        ('[{"text": "a [MASK]", "answers": ["b"], "judged": "c"}]', "does not contain"),
        ('[{"text": "no gap", "answers": ["a"]}]', "Received: no gap"),
        ('[{"text": "[MASK] [MASK]", "answers": ["a"]}]', "one \\[MASK\\]"),
    ],
)
def test_a_file_without_cloze_sentences_is_refused(tmp_path, content, message):
    path = tmp_path / "cloze.json"
    path.write_text(content)
    with pytest.raises(DatasetError, match=message):
        read_cloze(path)


def evaluate(*arguments):
    return CliRunner().invoke(main, ["evaluate-mlm", *map(str, arguments)])


def test_the_command_measures_the_bundled_model(tmp_path):
    sentence = "Paris is the capital of France. It is a large city in Europe. "
    text, cloze = tmp_path / "text.txt", tmp_path / "cloze.json"
    text.write_text("\n\n".join([sentence * 3, "He went to school. She did too."]))
    cloze.write_text('[{"text": "He [MASK] to school.", "answers": ["went", "goes"]}]')
    result = evaluate("--text", text, "--cloze", cloze, "--window", 32, "--json")
    scores = json.loads(result.stdout)
    assert scores["window"] == 32
    assert scores["num_words"] >= 5
    assert set(scores) >= {"model", "loss", "top1", "top5", "nsp_accuracy", "num_pairs"}
    assert (scores["num_cloze"], scores["cloze_top5"]) == (1, 1.0)


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    """Two texts encoded with the words of the bundled model, a fifth kept apart."""
    tokenizer = BertTokenizer.from_folder(BUNDLED_FOLDER / DEFAULT_MODEL)
    texts = ("Paris is the capital of France.", "The cat sat on the mat.")
    documents = [(i % 2, [texts[i % 2], "It is a large city."]) for i in range(40)]
    folder = tmp_path_factory.mktemp("encoded") / "corpus"
    names, sentences = ["city.txt", "cat.txt"], samples.owned(documents)
    write_corpus(sentences, names, tokenizer, samples.kept(0.2), folder)
    return folder


def test_what_was_kept_apart_of_a_corpus_can_be_measured(encoded, tmp_path):
    both, one = (
        json.loads(evaluate("--text", encoded, "--json", *more).stdout)
        for more in ([], ["--file", "cat.txt"])
    )
    corpus = open_corpus(encoded)
    kept = corpus.is_held_out
    assert both["num_words"] >= kept.sum() == 8
    bundled = open_bundled(DEFAULT_MODEL)
    kinds = TokenKinds.of(bundled.tokenizer.vocabulary)
    windows = make_windows(corpus, np.flatnonzero(kept), 128, kinds)
    expected = evaluate_mlm(bundled.forward, windows, kinds)
    for name in ("loss", "top1", "top5", "num_words"):
        assert both[name] == pytest.approx(expected[name], rel=1e-5), name
    cats = (kept & (corpus.document_files == 1)).sum()
    assert one["num_words"] / both["num_words"] == pytest.approx(cats / 8, abs=0.1)
    assert [part["first"] for part in both["by_position"]] == [0]
    other = tmp_path / "other"
    sentences = [("the cat purrs.", 0, 0), ("a dog barks.", 1, 0)]
    write_corpus(sentences, ["a.txt"], samples.tokenizer(), samples.kept(0.5), other)
    for arguments, said in (
        ((encoded, "--file", "dog.txt"), "no such text file. Received: dog.txt"),
        ((other,), "another vocabulary"),
    ):
        result = evaluate("--text", *arguments)
        assert result.exit_code == 2
        assert said in result.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--text", "absent.txt"], "absent.txt cannot be read"),
        (["--text", __file__, "--window", "9999"], "9999 tokens; the model has"),
        (["--cloze", "absent.json"], "absent.json. Received: No such file"),
    ],
)
def test_bad_input_ends_in_one_sentence(arguments, part):
    result = evaluate(*arguments)
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
