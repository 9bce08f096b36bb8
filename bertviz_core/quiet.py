"""Imports Keras and TensorFlow without their remarks, and without what is not needed.

`TF_CPP_MIN_LOG_LEVEL` does not reach what TensorFlow 2.21 writes while its
libraries load ("oneDNN custom operations are on"), so the stream itself is held
back for that time.
"""

import contextlib
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

# Keras imports these wherever they are installed, for wrappers and for data that nobody
# here hands to it: a quarter of the time that it takes, and 125 MB in every process
# that runs a model. What needs scikit-learn imports it later, with its first use.
_NOT_FOR_KERAS = ("pandas", "sklearn", "PIL")
# Keras on OpenVINO asks it for the windows of sounds: half of the time.
_LATER_FOR_KERAS = "scipy.signal"


def import_keras(backend: str = "openvino") -> None:
    """Imports Keras and its backend; says something only if that fails.

    `KERAS_BACKEND` decides, if it is set; else it is "openvino" for who asks models,
    "tensorflow" for who trains or derives.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # TensorFlow itself asks oneDNN on newer processors alone, though those with AVX2
    # train by it a tenth faster, too.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    chosen = os.environ.setdefault("KERAS_BACKEND", backend)
    # JAX asks for itself, and torch for pandas.
    unasked = {"jax": _NOT_FOR_KERAS, "torch": ()}.get(chosen, (*_NOT_FOR_KERAS, "jax"))
    with _stderr_held_back(), not_found(unasked):
        if chosen == "openvino":
            _import_later(_LATER_FOR_KERAS)
        importlib.import_module("keras")


def _import_later(name: str) -> None:
    """Puts a module in its place that is loaded when something asks it for a part.

    One of `importlib.util.LazyLoader` is loaded by the import already, which asks it
    for its `__spec__`.
    """
    if name in sys.modules:
        return
    stand_in = ModuleType(name)

    def part(attribute: str) -> Any:
        if sys.modules.get(name) is stand_in:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    stand_in.__getattr__ = part  # type: ignore[method-assign]
    sys.modules[name] = stand_in


@contextlib.contextmanager
def not_found(packages: Collection[str]) -> Iterator[None]:
    """Has this thread import as if packages were not installed; other threads may.

    One that is imported already stays.
    """
    finder = _NotFound(packages)
    # Other lists, as another thread may be on its way through the one that is there.
    sys.meta_path = [finder, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [other for other in sys.meta_path if other is not finder]


class _NotFound(MetaPathFinder):
    """What the import system asks first; it ends the search for some packages."""

    def __init__(self, packages: Collection[str]) -> None:
        self._packages = packages
        self._thread = threading.get_ident()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> None:
        if fullname in self._packages and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@contextlib.contextmanager
def _stderr_held_back() -> Iterator[None]:
    """Keeps what C++ writes to standard error; lets it out after an error."""
    stream = sys.__stderr__
    if stream is None:  # a process without a terminal, as under pythonw
        yield
        return
    stream.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(kept, held.read())
            raise
        finally:
            stream.flush()
            os.dup2(kept, 2)
            os.close(kept)
