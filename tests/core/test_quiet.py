"""Keras without what it would bring along, and nobody else without it."""

import importlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bertviz_core.quiet import not_found

ROOT = Path(__file__).parents[2]
# Of the standard library; nothing imports it but a test.
SPARE = "this"

IMPORT_KERAS = """
import sys
from bertviz_core.quiet import import_keras
import_keras()
print(*(name for name in ("pandas", "pyarrow", "sklearn") if name in sys.modules))
import pandas, sklearn.linear_model
"""


@pytest.fixture
def spare(monkeypatch, capsys):
    """A module that is not imported yet; it prints when it is."""
    monkeypatch.delitem(sys.modules, SPARE, raising=False)
    yield SPARE
    sys.modules.pop(SPARE, None)


def test_keras_comes_without_pandas_and_scikit_learn_which_can_come_later():
    command = [sys.executable, "-c", IMPORT_KERAS]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == ""


def test_a_package_is_not_found_until_the_end_and_then_again(spare):
    finders = list(sys.meta_path)
    with not_found([spare]), pytest.raises(ModuleNotFoundError, match=spare):
        importlib.import_module(spare)
    assert sys.meta_path == finders
    importlib.import_module(spare)


def test_another_thread_finds_it_meanwhile(spare):
    with not_found([spare]):
        other = threading.Thread(target=importlib.import_module, args=(spare,))
        other.start()
        other.join()
        assert spare in sys.modules
