import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
    done = subprocess.run(
        # Keras hands tensors of torch to NumPy in an old way.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", AGREE],
        cwd=ROOT,
        # Each thing runs once: to compile it well takes longer than it saves.
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
        },
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
