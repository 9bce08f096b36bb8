"""The order of all tests, and which backend of Keras they run on.

A process has one backend. Models are asked on OpenVINO, as in the app; what trains or
derives is marked `tensorflow` and runs in a process of its own.
"""

import gc
import os

import pytest

from bertviz_core.quiet import import_keras

# By their file, the longest first: two processes take a file each, and the one that
# takes a long one last keeps the other waiting.
LONG = """
    fine_tune layers embeddings engine_cluster masked_panels
    engine_training_worker attention fine_tune_results attention_questions
    deploy masked_word programs engine_server backends finetune_bundle pretrain_devices
    training_run pretrain_run engine_training gradients finetune_trainer engine_models
    model maps wrong_formulas pretrain_initial finetune_network tiny_pretraining
    examples finetune_estimate finetune_precision training_fast training_costs parity
    finetune_evaluation accessibility whole_model
"""


def pytest_configure(config):
    # Who hands tests to others runs none, and need not wait for TensorFlow.
    if not config.getoption("numprocesses", None):
        import_keras()


def pytest_collection_finish():
    """Has garbage looked for more seldom, and not in modules and tests.

    Graphs are made of many small objects: 6 to 14 % of the time went into looking.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_ignore_collect(collection_path):
    """Leaves files unread of which nothing runs on this backend, unless they are named.

    To import them all takes as long as many tests, and TensorFlow with them.
    """
    if not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    if os.environ["KERAS_BACKEND"] == "tensorflow":
        return "mark.tensorflow" not in text or None
    return "pytestmark = pytest.mark.tensorflow" in text or None


def pytest_collection_modifyitems(items):
    ranks = {f"test_{name}.py": rank for rank, name in enumerate(LONG.split())}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))
    if os.environ["KERAS_BACKEND"] != "tensorflow":
        elsewhere = pytest.mark.skip(reason="runs with KERAS_BACKEND=tensorflow")
        for item in items:
            if item.get_closest_marker("tensorflow"):
                item.add_marker(elsewhere)
