"""How much of the disk a training takes: by hand, and on the disk."""

import dataclasses
import shutil

import pytest

from bertviz_core import visitor_files
from bertviz_core.config import BertConfig
from bertviz_core.errors import StorageError, TrainingError
from bertviz_core.finetune import disk_room
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.run import finetune
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.training import checkpoint
from tests.core.finetune_samples import (
    SETTINGS,
    random_data,
    shared_loaded,
    tiny_loaded,
)

pytestmark = pytest.mark.tensorflow

BASE = BertConfig(vocab_size=30522)  # BERT-base, uncased
H, INNER, C = 768, 3072, 3
LAYER = 4 * (H * H + H) + 2 * H + (H * INNER + INNER) + (INNER * H + H) + 2 * H
EMBEDDINGS = (30522 + 512 + 2) * H + 2 * H
POOLER, HEAD = H * H + H, H * C + C
MLM, NSP = H * H + H + 2 * H + 30522, 2 * H + 2
LEVELS = {
    "full": EMBEDDINGS + 12 * LAYER + POOLER + HEAD,
    "top": 2 * LAYER + POOLER + HEAD,
    "head": HEAD,
}


MODEL = EMBEDDINGS + 12 * LAYER + POOLER + MLM + NSP + HEAD


@pytest.mark.parametrize("level", LEVELS)
def test_the_weights_that_learn_are_those_counted_by_hand(level):
    settings = FinetuneSettings(level=level, num_top_layers=2)
    num_learning = disk_room.num_learning
    assert num_learning(BASE, ALL_HEADS, settings, C) == LEVELS[level]
    # A pooler that is drawn learns with the head.
    drawn = POOLER if level == "head" else 0
    assert num_learning(BASE, ("mlm",), settings, C) == LEVELS[level] + drawn
    last_norm = 0 if level == "head" else 2 * H
    pre_norm = dataclasses.replace(BASE, pre_norm=True)
    found = num_learning(pre_norm, ("pooler",), settings, C)
    assert found == LEVELS[level] + last_norm


ALL_HEADS = ("pooler", "mlm", "nsp")


@pytest.mark.parametrize(
    ("settings", "heads", "expected"),
    [
        # Three checkpoints for a moment, in each: weight, two averages, the best.
        (FinetuneSettings(), ALL_HEADS, 3 * 4 * 4 * LEVELS["full"]),
        # The model and its zip, beside two checkpoints of a head.
        (FinetuneSettings(level="head"), ALL_HEADS, 2 * 4 * MODEL + 2 * 16 * HEAD),
        # A single epoch may be stopped again and again.
        (FinetuneSettings(epochs=1), ("pooler",), 3 * 4 * 4 * LEVELS["full"]),
    ],
)
def test_the_room_is_that_counted_by_hand(settings, heads, expected):
    assert disk_room.room_for(BASE, heads, settings, C) == expected
    if settings.level == "full" and heads == ALL_HEADS:
        assert expected == 5_255_258_256


@pytest.mark.parametrize("level", LEVELS)
def test_a_training_counts_the_same(level):
    settings = dataclasses.replace(SETTINGS, level=level, num_top_layers=1)
    loaded, data = tiny_loaded(("mlm",)), random_data()
    network = Learner(loaded, data, settings).network  # with all words
    moving = sum(v.value.numpy().size for v in network.trainable_variables)
    config, heads = loaded.model.config, loaded.model.heads
    assert disk_room.num_learning(config, heads, settings, 3) == moving


def test_a_training_keeps_as_many_checkpoints_of_that_size(tmp_path, monkeypatch):
    loaded, write, sizes = shared_loaded(), checkpoint._write, []

    def measured(state, folder):
        write(state, folder)
        states = (tmp_path / "checkpoints").rglob("state.safetensors")
        sizes.append([path.stat().st_size for path in states])

    monkeypatch.setattr(checkpoint, "_write", measured)
    finetune(loaded, random_data(), SETTINGS, work_folder=tmp_path)
    most = max(sizes, key=len)
    assert len(most) == disk_room.NUM_KEPT + 1
    config, heads = loaded.model.config, loaded.model.heads
    moving = disk_room.num_learning(config, heads, SETTINGS, 3)
    # Beside the numbers: their names, and the states of dropout and optimiser.
    assert 0 <= most[0] - 4 * 4 * moving < 50_000


def test_what_lies_there_already_counts_as_room(tmp_path, monkeypatch):
    loaded, work = shared_loaded(), tmp_path / "not" / "there"
    needed = 100_000_000 + disk_room.room_for(
        loaded.model.config, loaded.model.heads, SETTINGS, 3
    )
    usage = shutil.disk_usage(tmp_path)._replace(free=needed - 9)
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(TrainingError, match="too little room"):
        disk_room.require_room(work, loaded, SETTINGS, 3)
    (work / "checkpoints").mkdir(parents=True)
    (work / "checkpoints" / "state").write_bytes(b"x" * 9)
    disk_room.require_room(work, loaded, SETTINGS, 3)


def test_a_run_of_a_visitor_counts_in_their_share(tmp_path, monkeypatch):
    run = tmp_path / "run"
    run.mkdir()
    asked = (run / "work", shared_loaded(), SETTINGS, 3)
    monkeypatch.setenv("BERTVIZ_MAX_KEPT_MB", "300")
    disk_room.require_room(*asked)  # nobody's: a command
    visitor_files.own(run, "ann")
    with pytest.raises(StorageError, match="each visitor has 75 MB"):
        disk_room.require_room(*asked)
