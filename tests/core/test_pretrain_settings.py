"""The settings file: what it may hold, and what follows from it."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import ConfigError, TrainingError
from bertviz_core.experiments.tiny_results import COMMAND
from bertviz_core.training.pretrain import BUNDLED
from bertviz_core.training.pretrain.batches import layer_scales
from bertviz_core.training.pretrain.initial import settings_from_file
from bertviz_core.training.pretrain.settings import Phase, PretrainSettings
from bertviz_core.training.schedule import (
    OptimizerSettings,
    keep_rate,
    keep_rates,
    learning_rate,
)
from bertviz_core.training.settings import stated
from tests.core.pretrain_samples import settings

PHASE = {"max_tokens": 8, "num_tokens": 64, "batch_tokens": 64}


def test_settings_survive_the_way_through_json(tmp_path):
    asked = settings(
        dropout=0.25, corpus={"weights": {"a.txt": 2}, "lower_case": False}
    )
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(asked.to_dict()))
    assert PretrainSettings.from_json_file(path) == asked


@pytest.mark.parametrize("path", sorted(BUNDLED.values()), ids=lambda path: path.stem)
def test_a_bundled_configuration_can_be_run_and_trains_every_position(path):
    begins_with_a_model = "model" not in json.loads(path.read_text())
    model = DEFAULT_MODEL if begins_with_a_model else None
    asked, _ = settings_from_file(path, model, path.parent / "no run")
    assert asked.model_name == path.stem
    longest = max(phase.max_tokens for phase in asked.phases)
    if begins_with_a_model:  # whose positions are trained
        assert longest <= asked.model.max_position_embeddings
    else:
        assert longest == asked.model.max_position_embeddings


def test_the_command_that_the_page_shows_takes_any_text():
    words = COMMAND.replace("\\\n", " ").split()
    name = words[words.index("--config") + 1]
    asked, _ = settings_from_file(Path(name), None, Path("no run"))
    assert asked.corpus.weights == {}


def test_steps_follow_from_the_tokens_of_each_phase():
    asked = settings()
    assert [phase.num_steps for phase in asked.phases] == [8, 5]
    assert (asked.num_steps, asked.num_tokens) == (13, 8 * 96 + 5 * 96)
    uneven = Phase(max_tokens=10, num_tokens=1000, batch_tokens=39)
    assert (uneven.num_rows, uneven.num_steps) == (3, 33)
    # A whole number may be written with an exponent.
    assert settings(phases=[PHASE | {"num_tokens": 1e4}]).phases[0].num_tokens == 10_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dropuot": 0.1}, "not known. Received: dropuot"),
        ({"masking": {"share": 0.2}}, "Received: masking.share"),
        ({"seed": True}, "setting seed is of the wrong kind. Expected: integer"),
        ({"seed": 1.5}, "Expected: integer. Received: 1.5"),
        ({"dropout": None}, "Expected: number. Received: None"),
        ({"phases": {}}, "phases is of the wrong kind. Expected: array"),
        ({"phases": []}, "phases is out of bounds"),
        ({"phases": [{"max_tokens": 16}]}, "lacks a key. Expected: phases.num_tokens"),
        ({"masking": 3}, "masking is of the wrong kind. Expected: object"),
        ({"masking": {"rate": 0}}, "rate=0"),
        ({"masking": {"unit": "letter"}}, "token | word | span"),
        ({"masking": {"mask_rate": 0.8, "random_rate": 0.3}}, "random_rate ≤ 1"),
        ({"masking": {"frequent_from": 0.0}}, "frequent_from=0.0"),
        ({"phases": [PHASE | {"masking_rate": 1.0}]}, "masking_rate=1.0"),
        ({"optimizer": {"name": "sgd"}}, "adamw | muon"),
        ({"optimizer": {"learning_rate": float("nan")}}, "learning_rate=nan"),
        ({"optimizer": {"decay": "exponential"}}, "> 0 (exponential)"),
        ({"optimizer": {"accumulation": 0}}, "accumulation=0"),
        ({"optimizer": {"accumulation": 2, "ema_momentum": 0.9}}, "ema_momentum=0.9"),
        ({"optimizer": {"accumulation": 5}}, "equal parts. Received: 6 rows"),
        ({"sequences": {"sentence_rate": 2}}, "sentence_rate=2"),
        ({"remat": True, "dropout": 0.1}, "Dropout does not go together"),
        ({"layer_keep_rate": 0.5, "dropout": 0.1}, "Dropout does not go together"),
        ({"layer_keep_rate": 0}, "layer_keep_rate=0"),
        ({"precision": "float16"}, "auto | float32 | bfloat16"),
        ({"corpus": {"weights": {"a": -1}}}, "Expected: ≥ 0"),
        ({"corpus": {"weights": {"a": "much"}}}, "corpus.weights.a is of"),
        ({"phases": [PHASE | {"weights": {"a": -1}}]}, "weights"),
        ({"phases": [PHASE | {"weights": 1}]}, "phases.weights is of the wrong kind"),
        ({"corpus": {"vocabulary_file": 3}}, "Expected: string"),
        ({"model": {"vocab_size": 9, "hiden_size": 3}}, "model.hiden_size"),
        ({"phases": [PHASE | {"max_tokens": 33}]},
         "max_tokens=33, max_position_embeddings=32"),
        ({"sizes": {"type_vocab_size": 1}}, "type_vocab_size=1; pair_rate=0.5"),
        ({"sizes": {"hidden_size": 10}}, "multiple"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named(changes, message):
    with pytest.raises((TrainingError, ConfigError)) as caught:
        settings(**changes)
    assert message in str(caught.value)


def test_the_fingerprint_changes_with_all_that_changes_the_model_and_no_later_setting():
    @dataclasses.dataclass(frozen=True)
    class Later(PretrainSettings):
        a_new_one: float | None = None

    asked = settings(masking={"rate": 0.3})
    for name, value in (("seed", 4), ("dropout", 0.1), ("precision", "bfloat16")):
        changed = dataclasses.replace(asked, **{name: value})
        assert changed.fingerprint() != asked.fingerprint()
    for name in ("report_steps", "checkpoint_steps", "evaluation_steps", "model_name"):
        changed = dataclasses.replace(asked, **{name: 77})
        assert changed.fingerprint() == asked.fingerprint()
    known = {
        field.name: getattr(asked, field.name) for field in dataclasses.fields(asked)
    }
    assert Later(**known).fingerprint() == asked.fingerprint()
    assert Later(**known, a_new_one=0.5).fingerprint() != asked.fingerprint()


def test_what_is_stated_is_what_differs_from_the_defaults():
    asked = settings(
        masking={"rate": 0.15, "unit": "word"}, corpus={"weights": {"a.txt": 2.0}}
    )
    found = stated(asked)
    assert found["masking"] == {"unit": "word"}
    assert found["corpus"] == {"weights": {"a.txt": 2.0}}
    phase = {"max_tokens": 24, "num_tokens": 480, "batch_tokens": 96}
    assert found["phases"][1] == phase
    assert "sequences" not in found
    assert PretrainSettings.from_dict(found) == asked


def test_the_learning_rate_rises_to_its_peak_and_falls_in_a_straight_line():
    asked = OptimizerSettings(learning_rate=3.0, warmup_rate=0.2, final_rate=0.1)
    rates = [learning_rate(float(s), [(50, 3.0)], asked, np) for s in range(50)]
    assert np.allclose(rates[:10], 0.3 * np.arange(1, 11))
    assert rates[9] == max(rates) == 3.0
    assert np.allclose(np.diff(rates[9:]), -2.7 / 40)
    assert np.isclose(rates[-1], 0.3)


def test_a_phase_with_a_rate_of_its_own_begins_anew_and_one_without_goes_on():
    raw = settings().to_dict()
    phase = {"max_tokens": 16, "num_tokens": 16 * 10, "batch_tokens": 16}
    own = [None, None, 0.5, None, 0.25]
    raw["phases"] = [phase | {"learning_rate": rate} for rate in own]
    raw["optimizer"] |= {"learning_rate": 3.0, "warmup_rate": 0.2}
    asked = PretrainSettings.from_dict(raw)
    assert asked.stretches == ((20, 3.0), (20, 0.5), (10, 0.25))
    rates = learning_rate(np.arange(50.0), asked.stretches, asked.optimizer, np)
    rise, fall = np.arange(1, 5) / 4, np.arange(15, -1, -1) / 16
    whole = np.concatenate([rise, fall])
    short = np.concatenate([[0.5, 1.0], np.arange(7, -1, -1) / 8])
    assert np.allclose(rates, [*(3.0 * whole), *(0.5 * whole), *(0.25 * short)])


def test_an_exponential_decay_falls_by_the_same_share_at_every_step():
    asked = OptimizerSettings(
        learning_rate=2.0, warmup_rate=0.0, decay="exponential", final_rate=0.01
    )
    rates = learning_rate(np.arange(30.0), [(30, 2.0)], asked, np)
    assert np.allclose(rates[1:] / rates[:-1], 0.01 ** (1 / 29))
    assert np.isclose(rates[-1], 0.02)


def test_every_block_is_kept_at_first_and_the_last_one_rarest_in_the_end():
    assert keep_rate(0, 500, 0.4) == 1.0
    assert np.isclose(keep_rate(500, 500, 0.4), 0.4)
    assert np.isclose(keep_rate(5, 500, 0.4), 0.6 * np.exp(-1) + 0.4)
    assert np.isclose(keep_rate(5, 500, 0.4, speed=20), 0.6 * np.exp(-0.2) + 0.4)
    assert np.allclose(keep_rates(4, 0.2), [0.8, 0.6, 0.4, 0.2])
    asked = dataclasses.replace(settings(), layer_keep_rate=0.4)
    rng = np.random.default_rng(0)
    assert (layer_scales(asked, 0, rng) == 1.0).all()
    end = np.array([layer_scales(asked, asked.num_steps, rng) for _ in range(9000)])
    # Of two blocks the first is kept in 1 - 0.5 * 0.6 = 0.7 of the steps, the last
    # in 0.4: 1.1 blocks on average.
    assert np.allclose((end > 0).mean(0), [0.7, 0.4], atol=0.02)
    assert np.isclose((end > 0).sum(1).mean(), 1.1, atol=0.03)
    assert np.allclose(end.mean(0), 1.0, atol=0.04)  # nothing gained, nothing lost
