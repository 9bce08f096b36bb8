"""Imports TensorFlow without its remarks on standard error.

`TF_CPP_MIN_LOG_LEVEL` does not reach what TensorFlow 2.21 writes while its
libraries load ("oneDNN custom operations are on"), so the stream itself is held
back for that time.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator


def import_keras() -> None:
    """Imports Keras and its backend; says something only if that fails."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _stderr_held_back():
        importlib.import_module("keras")


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
