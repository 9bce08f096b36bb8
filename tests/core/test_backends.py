import importlib.util

import pytest

from tests.core.engine_waiting import run_python

AGREE = """
from bertviz_core.quiet import import_keras
import_keras()
from tests.core.test_parity import TINY, agree_in_all, run_tiny
for name in TINY:
    agree_in_all(*run_tiny(name))
"""


@pytest.mark.peer
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_models_agree_with_the_references_on_another_backend(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip("requirements-peers.txt installs it")
    # Keras hands tensors of torch to NumPy in an old way.
    given = ("-W", "ignore::DeprecationWarning", "-c", AGREE)
    # Each thing runs once: to compile it well takes longer than it saves.
    flags = "--xla_backend_optimization_level=0"
    run_python(*given, KERAS_BACKEND=backend, XLA_FLAGS=flags)
