import importlib
import sys
import threading

import pytest

from bertviz_core.quiet import not_found
from tests.core.engine_waiting import run_python

# Of the standard library; nothing imports it but a test.
SPARE = "this"

# What has come with Keras; then that what was put off can come. (The others come in
# this process, whose first import is Keras, too.)
IMPORT_KERAS = """
import sys
from bertviz_core.quiet import import_keras
import_keras({})
import keras
print(keras.backend.backend())
names = ("pandas", "pyarrow", "sklearn", "PIL", "jax", "tensorflow", "openvino")
print(*(n for n in (*names, "scipy.signal._signaltools") if n in sys.modules))
import scipy.signal
assert scipy.signal.get_window("hann", 2)[0] == 0
from scipy.signal import lfilter
from keras.src.backend.openvino.core import ov_opset
make, made = ov_opset.constant, []
ov_opset.constant = lambda *given: made.append(given) or make(*given)
import bertviz_core.model
print(len(made))
"""


def keras_imported(asked="", **environment):
    """What the lines above print, with this argument and these variables."""
    done = run_python("-c", IMPORT_KERAS.replace("{}", asked), **environment)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def spare(monkeypatch, capsys):
    """A module that is not imported yet; it prints when it is."""
    monkeypatch.delitem(sys.modules, SPARE, raising=False)
    yield SPARE
    sys.modules.pop(SPARE, None)


def test_keras_comes_on_a_backend_without_what_nobody_asks_it_for():
    """The environment counts more than what is asked for.

    OpenVINO's first constant is made with the network's import: two threads that make
    it at a time wait for each other without end.
    """
    found = keras_imported("'tensorflow'", KERAS_BACKEND="openvino")
    assert found == ["openvino", "openvino", "1"]


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
