"""How much of the disk a training takes: by hand, and on the disk."""

import dataclasses
import math
import shutil

import pytest

from bertviz_core import visitor_files
from bertviz_core.errors import StorageError, TrainingError
from bertviz_core.finetune import disk_room
from bertviz_core.finetune.learner import Learner, num_learning
from bertviz_core.finetune.run import finetune
from bertviz_core.training import checkpoint
from tests.core.finetune_samples import (
    SETTINGS,
    random_data,
    shared_loaded,
    tiny_loaded,
)
from tests.core.random_models import CONFIG, explorer_of, random_model

pytestmark = pytest.mark.tensorflow

C = 3
LEVELS = ("full", "top", "head")


def of_level(level):
    return dataclasses.replace(SETTINGS, level=level, num_top_layers=1)


@pytest.mark.parametrize("heads", [("mlm",), ("pooler", "mlm", "nsp")])
@pytest.mark.parametrize("level", LEVELS)
def test_a_training_counts_the_same(level, heads):
    settings, loaded = of_level(level), tiny_loaded(heads)
    network = Learner(loaded, random_data(), settings).network  # with all words
    moving = sum(v.value.numpy().size for v in network.trainable_variables)
    assert num_learning(loaded.model, settings, C) == moving


def test_the_last_norm_of_a_pre_norm_model_learns_with_its_layers():
    model, _ = random_model(dataclasses.replace(CONFIG, pre_norm=True))
    settings, loaded = of_level("top"), explorer_of(model).loaded
    network = Learner(loaded, random_data(), settings).network
    moving = sum(v.value.numpy().size for v in network.trainable_variables)
    assert num_learning(model, settings, C) == moving


def test_the_room_is_that_counted_by_hand():
    loaded = tiny_loaded(("mlm",))
    sizes = {v.path: math.prod(v.shape) for v in loaded.model.trainable_variables}
    size = loaded.model.config.hidden_size
    encoder = sum(n for path, n in sizes.items() if "/mlm/" not in path)
    drawn = size * size + size + C * size + C
    # Three checkpoints for a moment, in each: weight, two averages, the best.
    found = disk_room.room_for(loaded.model, of_level("full"), C)
    assert found == 3 * 4 * 4 * (encoder + drawn)
    # The model and its zip, beside two checkpoints of a head.
    found = disk_room.room_for(loaded.model, of_level("head"), C)
    assert found == 2 * 4 * (sum(sizes.values()) + drawn) + 2 * 4 * 4 * drawn


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
    moving = num_learning(loaded.model, SETTINGS, 3)
    # Beside the numbers: their names, and the states of dropout and optimiser.
    assert 0 <= most[0] - 4 * 4 * moving < 50_000


def test_what_lies_there_already_counts_as_room(tmp_path, monkeypatch):
    loaded, work = shared_loaded(), tmp_path / "not" / "there"
    needed = 100_000_000 + disk_room.room_for(loaded.model, SETTINGS, 3)
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
