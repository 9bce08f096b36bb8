"""The one handle on the engine that this server process holds.

The model runs in other processes. All sessions share the handle, and so does the
server's start-up, which is why it belongs to the process and not to a session.
"""

from __future__ import annotations

import functools
import logging
import threading
from typing import TYPE_CHECKING

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.errors import BertVizError

if TYPE_CHECKING:
    from bertviz_core.engine.engine import Engine

logger = logging.getLogger(__name__)
_LOCK = threading.Lock()
# Set once a model has answered since the server started.
HAS_ANSWERED = threading.Event()
_CLOSING = threading.Event()


def client() -> Engine:
    """The engine; the first call starts it, or raises what `connect` does."""
    # Without the lock, two first visitors would start two engines.
    with _LOCK:
        return _connected()


@functools.cache
def _connected() -> Engine:
    from bertviz_core.engine import connect

    _CLOSING.clear()
    return connect()


@functools.cache
def warm_up() -> threading.Thread:
    """Starts the engine and loads the default model, without waiting. Once."""
    thread = threading.Thread(target=_warm_up, name="engine-warm-up", daemon=True)
    thread.start()
    return thread


def _warm_up() -> None:
    try:
        client().warm_up(DEFAULT_MODEL)
    except BertVizError:
        # Ignored: the first page that asks meets the same error and shows it, unless
        # the server was only stopped while it started.
        if not _CLOSING.is_set():
            logger.exception("The engine did not warm up.")


def close() -> None:
    """Stops the engine, if it runs."""
    _CLOSING.set()
    with _LOCK:
        if _connected.cache_info().currsize:
            _connected().close()
            _connected.cache_clear()
