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
from bertviz_core.explorer import Explorer
from bertviz_core.pretrain.chunks import IS_NEXT, IS_RANDOM
from bertviz_core.pretrain.cloze import ClozeItem, read_cloze, score_cloze
from bertviz_core.pretrain.corpus import open_corpus, write_corpus
from bertviz_core.pretrain.evaluate import (
    evaluate_mlm,
    evaluate_nsp,
    make_windows,
    read_text,
)
from bertviz_core.tokenizer import BertTokenizer
from tests.core import pretrain_samples as samples

KINDS = samples.kinds()
SIZE = len(samples.VOCABULARY)
WINDOW = 20


class KnownModel:
    """Answers from what it is told; keeps what it was asked."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    def __call__(self, inputs, outputs):
        self.asked.append(inputs)
        (name,) = outputs
        return {name: self.answer(inputs)}


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
    uniform = KnownModel(lambda i: np.zeros((len(i["mlm_positions"]), SIZE)))
    scores = evaluate_mlm(uniform, windows, KINDS)
    hidden = sum(
        (asked["input_ids"] == KINDS.mask_token_id).sum() for asked in uniform.asked
    )
    num_words = (~KINDS.is_special[windows]).sum()
    assert scores.num_words == hidden
    assert 0.12 < hidden / num_words < 0.18
    assert np.isclose(scores.loss, np.log(SIZE))
    assert (scores.top1, scores.top5) == (0, 0)  # a tie is no answer
    again = KnownModel(uniform.answer)
    evaluate_mlm(again, windows, KINDS)
    for first, second in zip(uniform.asked, again.asked, strict=True):
        assert (first["input_ids"] == second["input_ids"]).all()


def test_words_are_counted_right_by_their_rank(windows):
    def answer(inputs):
        """The right word k-th, k = 0, 3 and 7 in turn, behind words of no meaning."""
        rows = inputs["mlm_positions"] // WINDOW
        batch = answer.rows[answer.done : answer.done + inputs["input_ids"].shape[0]]
        answer.done += len(batch)
        logits = np.tile(-np.arange(SIZE, dtype=float), (len(rows), 1))
        for place, position in enumerate(inputs["mlm_positions"]):
            if position // WINDOW >= len(batch):
                continue
            right = batch[position // WINDOW, position % WINDOW]
            rank = (0, 3, 7)[place % 3]
            others = np.delete(np.arange(SIZE), right)
            order = np.insert(others, rank, right)
            logits[place, order] = -np.arange(SIZE)
        return logits

    answer.rows, answer.done = windows, 0
    scores = evaluate_mlm(KnownModel(answer), windows, KINDS)
    assert abs(scores.top1 - 1 / 3) < 0.02
    assert abs(scores.top5 - 2 / 3) < 0.02
    total = np.log(np.exp(-np.arange(SIZE)).sum())
    assert abs(scores.loss - (total + (0 + 3 + 7) / 3)) < 0.1


def test_words_are_counted_by_their_position_in_the_window():
    """The right word comes first at the first 128 positions, last behind them."""
    rng = np.random.default_rng(0)
    windows = rng.integers(5, SIZE, (5, 200)).astype("int32")
    windows[:, 0], windows[:, 199] = KINDS.cls_token_id, KINDS.sep_token_id
    windows[4, 100:] = KINDS.pad_token_id

    def answer(inputs):
        # `[MASK]` at a place of the first row in the batch is that of the same row.
        places = inputs["mlm_positions"]
        batch = answer.rows[answer.done : answer.done + len(inputs["input_ids"])]
        answer.done += len(batch)
        padded = np.resize(batch, inputs["input_ids"].shape)
        right = padded.reshape(-1)[places]
        logits = np.zeros((len(places), SIZE))
        logits[np.arange(len(places)), right] = np.where(places % 200 < 128, 9.0, -9.0)
        return logits

    answer.rows, answer.done = windows, 0
    scores = evaluate_mlm(KnownModel(answer), windows, KINDS)
    near, far = scores.by_position
    assert (near.first, near.last, near.top1) == (0, 127, 1.0)
    assert (far.first, far.last, far.top1) == (128, 255, 0.0)
    assert near.num_words + far.num_words == scores.num_words
    assert np.isclose(scores.top1, near.num_words / scores.num_words)


def test_unknown_words_are_not_asked_for(windows):
    unknown = np.where(windows == 5, 1, windows)
    model = KnownModel(lambda i: np.zeros((len(i["mlm_positions"]), SIZE)))
    evaluate_mlm(model, unknown, KINDS)
    shown = np.concatenate([asked["input_ids"] for asked in model.asked])
    assert (shown == 1).sum() >= (unknown == 1).sum()


def test_text_without_a_word_is_refused():
    windows = np.array([[2, 1, 3, 0]])
    with pytest.raises(TrainingError, match="no word to hide"):
        evaluate_mlm(KnownModel(None), windows, KINDS)


@pytest.mark.parametrize(("answer", "expected"), [("right", 1.0), ("wrong", 0.0)])
def test_next_sentences_are_counted_by_the_label_of_the_paper(corpus, answer, expected):
    """Every word of this text is another one, so that what follows is known."""
    numbers = np.arange(len(corpus.tokens), dtype="int32") + SIZE
    numbered = dataclasses.replace(corpus, tokens=numbers)

    def told(inputs):
        logits = np.zeros((len(inputs["input_ids"]), 2))
        for row, ids in enumerate(inputs["input_ids"]):
            is_b = inputs["token_type_ids"][row] == 1
            first_of_b = int(np.flatnonzero(is_b)[0])
            is_next = ids[first_of_b] == ids[first_of_b - 2] + 1
            right = IS_NEXT if is_next else IS_RANDOM
            logits[row, right if answer == "right" else 1 - right] = 1.0
            length = int(np.flatnonzero(is_b)[-1]) + 1
            assert inputs["attention_mask"][row].tolist() == [1] * length + [0] * (
                24 - length
            )
        return logits

    scores = evaluate_nsp(KnownModel(told), numbered, np.arange(70), 24, KINDS, 60)
    assert scores.num_pairs == 60
    assert scores.accuracy == expected


def test_text_without_pairs_has_no_next_sentence_score():
    corpus = samples.encode_documents(iter([(0, ["the cat."])]), samples.tokenizer())
    assert evaluate_nsp(KnownModel(None), corpus, np.arange(1), 24, KINDS) is None


def test_cloze_answers_count_first_and_among_five():
    items = tuple(
        ClozeItem(f"the {noun} [MASK]s.", (verb, "nothing"))
        for noun, verb in zip(samples.NOUNS, samples.VERBS, strict=True)
    )
    # The rest guess the word of lowest id, which judges may find sensible.
    guess = samples.VOCABULARY[0]
    items = (*items[:3], dataclasses.replace(items[3], judged=(guess,)), items[4])
    wanted = [samples.VOCABULARY.index(verb) for verb in samples.VERBS]

    def answer(inputs):
        logits = np.tile(-np.arange(SIZE, dtype=float), (5, 1))
        logits[0, wanted[0]] = 9.0  # first
        logits[1, wanted[1]] = -3.5  # fifth, after the four of lowest id
        logits[2, wanted[2]] = -4.5  # sixth
        return logits

    scores = score_cloze(KnownModel(answer), samples.tokenizer(), items)
    assert scores.top1 == 0.2
    assert scores.top5 == 0.4
    assert scores.judged_top1 == 0.4
    assert scores.judged_top5 == 0.6
    assert scores.guesses[0][0] == "purr"
    assert all(len(words) == 5 for words in scores.guesses)


CLOZE_FOLDER = Path(__file__).parents[1] / "data"
CLOZE_SETS = {"en": 100, "en_2": 60, "en_3": 60, "zh": 100, "zh_2": 60, "zh_3": 60}


@pytest.mark.parametrize(("name", "count"), CLOZE_SETS.items())
def test_the_cloze_sentences_of_the_project_can_be_read(name, count):
    items = read_cloze(CLOZE_FOLDER / f"cloze_{name}.json")
    assert len(items) == len({item.text for item in items}) == count
    for item in items:
        words = item.answers + item.judged
        assert len(set(words)) == len(words)
        assert all(word == word.strip().lower() for word in words)


@pytest.mark.parametrize(
    ("language", "further"), [("en", ("en_2", "en_3")), ("zh", ("zh_2", "zh_3"))]
)
def test_the_card_of_a_bundled_model_has_its_cloze_scores(language, further):
    model = f"bert-mini-{language}"
    card = (BUNDLED_FOLDER / model / "README.md").read_text("utf-8")
    explorer = Explorer.open(model)

    def scores(name):
        items = read_cloze(CLOZE_FOLDER / f"cloze_{name}.json")
        return score_cloze(explorer.forward, explorer.tokenizer, items)

    first = scores(language)
    shares = [first.top1, first.top5]
    for found in (first, *map(scores, further)):
        shares += [found.judged_top1, found.judged_top5]
    table = card[card.index("| 100 everyday cloze") :].splitlines()
    stated = [int(line.split("|")[2].strip(" %")) for line in table[: len(shares)]]
    assert stated == [round(100 * share) for share in shares]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "does not hold cloze"),
        ('[{"text": "no answers [MASK]"}]', "does not hold cloze"),
        ("[]", "does not hold cloze"),
        ('[{"text": "a [MASK]", "answers": "word"}]', "does not hold cloze"),
        ('[{"text": "a [MASK]", "answers": ["b"], "judged": "c"}]', "does not hold"),
        ('[{"text": "no gap", "answers": ["a"]}]', "Received: no gap"),
        ('[{"text": "[MASK] [MASK]", "answers": ["a"]}]', "one \\[MASK\\]"),
    ],
)
def test_a_file_without_cloze_sentences_is_refused(tmp_path, content, message):
    path = tmp_path / "cloze.json"
    path.write_text(content)
    with pytest.raises(DatasetError, match=message):
        read_cloze(path)


def test_an_evaluation_file_may_be_a_single_document(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("the cat purrs. a dog barks.")
    corpus = read_text(path, samples.tokenizer())
    assert corpus.num_documents == 1
    assert len(corpus.sentence_starts) == 2  # lower case goes on with the sentence


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
    assert 0 < scores["top1"] <= scores["top5"] <= 1
    assert scores["loss"] > 0
    assert scores["num_words"] >= 5
    assert set(scores) >= {"model", "nsp_accuracy", "num_pairs"}
    assert (scores["num_cloze"], scores["cloze_top5"]) == (1, 1.0)


@pytest.fixture(scope="module")
def encoded(tmp_path_factory):
    """Two texts encoded with the words of the bundled model, a fifth kept apart."""
    tokenizer = BertTokenizer.from_folder(BUNDLED_FOLDER / DEFAULT_MODEL)
    texts = ("Paris is the capital of France.", "The cat sat on the mat.")
    documents = [(i % 2, [texts[i % 2], "It is a large city."]) for i in range(40)]
    folder = tmp_path_factory.mktemp("encoded") / "corpus"
    write_corpus(
        iter(documents), ["city.txt", "cat.txt"], tokenizer, samples.kept(0.2), folder
    )
    return folder


def test_what_was_kept_apart_of_a_corpus_can_be_measured(encoded):
    both, one = (
        json.loads(evaluate("--text", encoded, "--json", *more).stdout)
        for more in ([], ["--file", "cat.txt"])
    )
    corpus = open_corpus(encoded)
    kept = corpus.is_held_out
    assert both["num_words"] >= kept.sum() == 8
    cats = (kept & (corpus.document_files == 1)).sum()
    assert one["num_words"] / both["num_words"] == pytest.approx(cats / 8, abs=0.1)
    assert [part["first"] for part in both["by_position"]] == [0]


def test_a_corpus_of_other_words_or_without_the_file_is_refused(encoded, tmp_path):
    result = evaluate("--text", encoded, "--file", "dog.txt")
    assert result.exit_code == 2
    assert "no such text file. Received: dog.txt" in result.stderr
    other = tmp_path / "other"
    documents = iter([(0, ["the cat purrs."]), (0, ["a dog barks."])])
    write_corpus(documents, ["a.txt"], samples.tokenizer(), samples.kept(0.5), other)
    result = evaluate("--text", other)
    assert result.exit_code == 2
    assert "another vocabulary" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--text", "absent.txt"], "absent.txt cannot be read"),
        (["--text", __file__, "--window", "9999"], "9999 tokens; the model has"),
        (["--cloze", "absent.json"], "absent.json does not hold"),
    ],
)
def test_bad_input_ends_in_one_sentence(arguments, part):
    result = evaluate(*arguments)
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
