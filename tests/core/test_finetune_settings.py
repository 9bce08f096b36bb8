"""Settings, the learning rate's curve, and which rows go together."""

import dataclasses
import json

import numpy as np
import pytest

from bertviz_core.errors import TrainingError
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.training.finetune.batches import epoch_order, tokenize
from bertviz_core.training.finetune.settings import FinetuneSettings, learning_rates
from tests.core.finetune_samples import random_examples
from tests.core.random_models import VOCABULARY


def test_settings_survive_json_with_what_was_not_chosen():
    settings = FinetuneSettings(
        level="top", num_top_layers=3, epochs=7, learning_rate=2e-4, seed=5, patience=0
    )
    raw = json.loads(json.dumps(settings.to_dict()))
    assert FinetuneSettings.from_dict(raw) == settings
    for level, epochs, rate in (
        ("head", 30, 1e-3),
        ("top", 4, 5e-5),
        ("full", 3, 3e-5),
    ):
        raw = FinetuneSettings(level=level).to_dict()
        assert (raw["epochs"], raw["learning_rate"]) == (epochs, rate)
    with pytest.raises(TrainingError, match="not known"):
        FinetuneSettings.from_dict({"epoch": 3})


@pytest.mark.parametrize(
    ("level", "hidden_size", "num_rows", "rate", "epochs"),
    [
        ("full", 768, 10_000, 3e-5, 3),  # what the paper has
        ("top", 768, 10_000, 5e-5, 4),
        ("full", 1024, 10_000, 1.7e-5, 3),  # 3e-5 · (768/1024)² = 1.69e-5
        ("full", 256, 324, 2.7e-4, 15),  # · 9; 21 steps an epoch, 300 in 15
        ("top", 128, 10_000, 1e-3, 4),  # no more than that
        ("full", 768, 12, 3e-5, 20),
        ("head", 256, 12, 1e-3, 30),
    ],
)
def test_narrow_models_take_larger_steps_and_few_rows_are_seen_more_often(
    level, hidden_size, num_rows, rate, epochs
):
    settings = FinetuneSettings.proposed(hidden_size, num_rows, level=level)
    assert settings.learning_rate == pytest.approx(rate)
    assert settings.epochs == epochs


def test_what_was_chosen_is_not_proposed_otherwise():
    chosen = {"level": "full", "epochs": 2, "learning_rate": 4e-5, "batch_size": 8}
    settings = FinetuneSettings.proposed(128, 9, **chosen)
    assert settings == FinetuneSettings(**chosen)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("level", ["half"]),
        ("decay", ["cosine"]),
        ("precision", ["float16"]),
        ("num_top_layers", [0, 2**31]),
        ("batch_size", [0, 10**190]),
        ("epochs", [0, -2, 1001]),
        ("seed", [-1, 2**53 + 1]),
        ("patience", [-2, 2**31]),
        ("learning_rate", [float("inf"), -1e-3]),
        ("weight_decay", [float("nan")]),
        ("clip_norm", [-1.0]),
        ("warmup_rate", [1.0]),
        ("final_rate", [-0.1, 1.5]),
        ("max_tokens", [2, 2**31]),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name(name, values):
    for value in values:
        with pytest.raises(TrainingError, match=f"{name} is out of bounds"):
            dataclasses.replace(FinetuneSettings(), **{name: value})


def test_the_exponential_rate_reaches_its_peak_and_then_falls_by_one_factor():
    settings = FinetuneSettings(
        epochs=3, batch_size=2, learning_rate=0.8, warmup_rate=0.5,
        decay="exponential", final_rate=1 / 64,
    )  # fmt: skip
    # 7 rows are 4 steps an epoch, 12 in all, 6 of them to rise in, over an epoch's end.
    rates = learning_rates(settings, 7, np.arange(12))
    rising = [0.8 * done / 6 for done in range(1, 7)]
    falling = [0.8 * 0.5**done for done in range(1, 7)]
    np.testing.assert_allclose(rates, rising + falling)
    assert FinetuneSettings(decay="exponential").final_rate == 0.1


def test_every_row_is_in_one_batch_of_an_epoch_as_seed_and_epoch_decide():
    lengths = np.random.default_rng(3).integers(3, 90, 1003)

    def order(seed, epoch):
        return [list(batch) for batch in epoch_order(lengths, 16, seed, epoch)]

    assert sorted(row for batch in order(4, 2) for row in batch) == list(range(1003))
    assert sorted(map(len, order(4, 2))) == [11] + [16] * 62
    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_a_long_run_over_many_rows_gives_the_points_that_are_asked_for():
    # All of them would be 8 TB.
    settings = FinetuneSettings(epochs=1000, batch_size=1, learning_rate=0.5)
    steps = np.array([10**11 - 1, 10**12 - 1])
    rates = learning_rates(settings, 10**9, steps)
    np.testing.assert_allclose(rates, [0.5, 0.0], atol=1e-9)


def test_bucketing_takes_most_of_the_padding_away():
    lengths = np.random.default_rng(1).integers(3, 120, 2000)

    def padding(batches):
        places = sum(len(batch) * lengths[batch].max() for batch in batches)
        return places / lengths.sum() - 1

    by_chance = np.array_split(np.random.default_rng(2).permutation(2000), 125)
    assert padding(by_chance) > 0.7
    assert padding(epoch_order(lengths, 16, 1, 0)) < 0.05


def test_a_batch_is_padded_as_far_as_the_model_reads():
    tokenizer = BertTokenizer(VOCABULARY)
    examples = random_examples(9, seed=3, pairs=True)
    rows = tokenize(tokenizer, examples, 11)
    chosen = np.array([4, 0, 7])
    batch = rows.batch(chosen)
    assert batch["input_ids"].shape[1] <= 11
    for index, row in enumerate(chosen):
        expected = tokenizer.encode(examples.texts[row], examples.pairs[row], 11, True)
        size = expected.num_tokens
        assert rows.lengths[row] == size
        assert list(batch["input_ids"][index, :size]) == list(expected.input_ids)
        types = batch["token_type_ids"][index]
        assert list(types[:size]) == list(expected.token_type_ids)
        assert (batch["input_ids"][index, size:] == tokenizer.pad_token_id).all()
        assert batch["attention_mask"][index].sum() == size
