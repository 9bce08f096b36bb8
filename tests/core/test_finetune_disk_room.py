"""How much of the disk a training takes: by hand, and on the disk."""

import dataclasses
import shutil

import pytest

from bertviz_core.config import BertConfig
from bertviz_core.errors import TrainingError
from bertviz_core.finetune import disk_room
from bertviz_core.finetune.learner import Learner
from bertviz_core.finetune.run import finetune
from bertviz_core.finetune.settings import FinetuneSettings
from bertviz_core.pretrain import checkpoint
from tests.core.finetune_samples import random_data, tiny_loaded

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
TINY = FinetuneSettings(
    level="full", epochs=3, batch_size=5, learning_rate=1e-2, max_tokens=9,
    patience=0, precision="float32",
)  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
def test_the_weights_that_learn_are_those_counted_by_hand(level):
    settings = FinetuneSettings(level=level, num_top_layers=2)
    heads = ("pooler", "mlm", "nsp")
    assert disk_room.num_learning(BASE, heads, settings, C) == LEVELS[level]


def test_a_pooler_that_is_drawn_learns_with_the_head():
    settings = FinetuneSettings(level="head")
    assert disk_room.num_learning(BASE, ("mlm",), settings, C) == POOLER + HEAD


def test_bert_base_with_all_layers_takes_five_gigabytes():
    # Three checkpoints for a moment, in each: weight, two averages, the best.
    expected = 3 * 4 * 4 * LEVELS["full"]
    heads = ("pooler", "mlm", "nsp")
    assert disk_room.room_for(BASE, heads, FinetuneSettings(), C) == expected
    assert expected == 5_255_258_256


def test_each_checkpoint_holds_what_the_best_epoch_said_of_each_row():
    sizes = [disk_room.room_for(BASE, (), FinetuneSettings(), C, n) for n in (0, 1000)]
    assert sizes[1] - sizes[0] == 3 * 4 * 1000 * C


def test_the_head_alone_takes_the_model_and_its_zip_twice():
    settings = FinetuneSettings(level="head")
    model = EMBEDDINGS + 12 * LAYER + POOLER + MLM + NSP + HEAD
    found = disk_room.room_for(BASE, ("pooler", "mlm", "nsp"), settings, C)
    # The zip is made once more when words are counted, and the checkpoints are gone.
    assert found == 3 * 4 * model


def test_a_single_epoch_keeps_a_single_checkpoint():
    settings = FinetuneSettings(level="full", epochs=1)
    model = LEVELS["full"]
    found = disk_room.room_for(BASE, ("pooler",), settings, C)
    assert found == 2 * 4 * model + 4 * 4 * model


def test_a_model_of_its_own_kind_counts_its_last_norm():
    settings = FinetuneSettings(level="top", num_top_layers=2)
    config = dataclasses.replace(BASE, pre_norm=True)
    found = disk_room.num_learning(config, ("pooler",), settings, C)
    assert found == LEVELS["top"] + 2 * H


@pytest.mark.parametrize("level", LEVELS)
def test_a_training_counts_the_same(level):
    settings = dataclasses.replace(TINY, level=level, num_top_layers=1)
    loaded, data = tiny_loaded(("mlm",)), random_data()
    network = Learner(loaded, data, settings).network  # with all words
    moving = sum(
        variable.value.numpy().size for variable in network.trainable_variables
    )
    config, heads = loaded.model.config, loaded.model.heads
    assert disk_room.num_learning(config, heads, settings, 3) == moving


def test_a_training_keeps_as_many_checkpoints_of_that_size(tmp_path, monkeypatch):
    loaded, write, sizes = tiny_loaded(), checkpoint._write, []

    def measured(state, folder):
        write(state, folder)
        states = (tmp_path / "checkpoints").rglob("state.safetensors")
        sizes.append([path.stat().st_size for path in states])

    monkeypatch.setattr(checkpoint, "_write", measured)
    finetune(loaded, random_data(), TINY, work_folder=tmp_path)
    most = max(sizes, key=len)
    assert len(most) == disk_room.NUM_KEPT + 1
    config, heads = loaded.model.config, loaded.model.heads
    moving = disk_room.num_learning(config, heads, TINY, 3)
    # Beside the numbers: their names, and the states of dropout and optimiser.
    assert 0 <= most[0] - 4 * 4 * moving < 50_000


def test_what_lies_there_already_counts_as_room(tmp_path, monkeypatch):
    loaded, work = tiny_loaded(), tmp_path / "not" / "there"
    needed = 100_000_000 + disk_room.room_for(
        loaded.model.config, loaded.model.heads, TINY, 3
    )
    usage = shutil.disk_usage(tmp_path)._replace(free=needed - 9)
    monkeypatch.setattr(disk_room.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(TrainingError, match="too little room"):
        disk_room.require_room(work, loaded, TINY, 3, 0)
    (work / "checkpoints").mkdir(parents=True)
    (work / "checkpoints" / "state").write_bytes(b"x" * 9)
    disk_room.require_room(work, loaded, TINY, 3, 0)
    with pytest.raises(TrainingError, match="too little room"):
        disk_room.require_room(work, loaded, TINY, 3, 10**6)
