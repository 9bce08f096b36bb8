"""The order of all tests, and which backend of Keras they run on.

A process has one backend. Models are asked on OpenVINO, as in the app; what trains or
derives is marked `tensorflow` and runs in a process of its own.
"""

import os

import pytest

from bertviz_core.quiet import import_keras

import_keras()

# By their file, the longest first: two processes take a file each, and the one that
# takes a long one last keeps the other waiting.
LONG = """
    fine_tune layers programs masked_panels attention fine_tune_results embeddings
    backends engine_cluster maps deploy masked_word attention_questions finetune_bundle
    pretrain_devices training_run finetune_trainer gradients pretrain_run
    engine_training finetune_estimate training_costs finetune_precision
    finetune_network pretrain_initial tiny_pretraining accessibility whole_model
"""


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
