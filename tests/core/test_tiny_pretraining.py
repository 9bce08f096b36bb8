"""A BERT that learns a page while somebody watches."""

from __future__ import annotations

import json
import math

import pytest

from bertviz_core.errors import TextError, TrainingError
from bertviz_core.experiments.tiny_pretraining import pretrain_tiny
from bertviz_core.experiments.tiny_results import MAX_TINY_CHARACTERS, TinyLook, TinyRun
from bertviz_core.sentences import bundled_text

pytestmark = pytest.mark.tensorflow

SENTENCE = "The cat drinks [MASK]."


ASKED = ("On on off. On.", "on zebra [MASK].", 2)  # with a word that the page lacks


@pytest.fixture(scope="module")
def short_run():
    return pretrain_tiny(*ASKED)


def test_before_the_first_step_nothing_is_known_but_frequencies(short_run):
    first = short_run.looks[0]
    assert (first.loss, first.accuracy) == (None, None)
    assert sum(share for _, share in first.guesses) < 1
    assert short_run.tokens == ("[CLS]", "on", "[UNK]", "[MASK]", ".", "[SEP]")
    shares = [3 / 6, 1 / 6, 2 / 6]  # on, off, full stop
    expected = -sum(share * math.log(share) for share in shares)
    assert short_run.frequency_loss == pytest.approx(expected, abs=1e-12)
    assert (short_run.num_tokens, short_run.vocab_size) == (6, 5 + 3)
    assert short_run.chance_loss == pytest.approx(math.log(8))
    there_and_back = json.loads(json.dumps(short_run.to_dict()))
    assert TinyRun.from_dict(there_and_back) == short_run


def test_a_page_is_learnt_beyond_the_frequencies_of_its_words():
    told = []
    run = pretrain_tiny(
        bundled_text("first_page", "en"), SENTENCE, 120, tell=told.append
    )
    assert run.looks[-1].loss < run.frequency_loss < run.chance_loss
    assert [look.num_steps for look in run.looks] == list(range(0, 121, 20))
    assert told[-1] == run
    assert [len(so_far.looks) for so_far in told] == list(range(1, 8))
    assert told[2].fraction == pytest.approx(40 / 120)


def test_another_seed_gives_another_run(short_run):
    def compare(run):
        assert run.looks[0].guesses != short_run.looks[0].guesses
        raise KeyboardInterrupt  # its steps would say no more

    with pytest.raises(KeyboardInterrupt):
        pretrain_tiny(*ASKED, seed=8, tell=compare)


def test_whoever_watches_can_stop_it():
    def stop(run):
        if run.looks[-1].num_steps:
            raise KeyboardInterrupt

    page = "红花很红。绿草很绿。白雪很白。"
    with pytest.raises(KeyboardInterrupt):
        pretrain_tiny(page, "白[MASK]很白。", 1000, tell=stop)


@pytest.mark.parametrize(
    ("page", "sentence", "num_steps", "error", "said"),
    [
        ("", SENTENCE, 5, TrainingError, "too short"),
        ("Only one sentence", SENTENCE, 5, TrainingError, "too short"),
        ("One. " * MAX_TINY_CHARACTERS, SENTENCE, 5, TextError, "too long"),
        ("One. Two.", "No gap.", 5, TextError, "one [MASK]. Received: 0"),
        ("One. Two.", "[MASK] [MASK]", 5, TextError, "Received: 2"),
        ("One. Two.", SENTENCE, 0, TrainingError, "Received: 0"),
        ("One. Two.", SENTENCE, 1001, TrainingError, "Received: 1001"),
    ],
)
def test_what_cannot_be_learnt_is_said(page, sentence, num_steps, error, said):
    with pytest.raises(error, match=said.replace("[", r"\[").replace(".", r"\.")):
        pretrain_tiny(page, sentence, num_steps)


def run_of(*losses):
    """Looks at the steps 0, 20, 40 and so on."""
    looks = tuple(TinyLook(20 * i, loss, None, ()) for i, loss in enumerate(losses))
    return TinyRun((), 100, 9, 50, 80, 3.0, looks)


def test_the_step_that_beats_frequencies_is_the_first_look_below_them():
    assert run_of(None, 3.5, 3.0, 2.9, 3.1).below_frequency == 60
    assert run_of(None, 3.5).below_frequency is None
