"""Shows errors on a page: as a sentence, never as a traceback."""

import errno
import functools
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from bertviz_core.errors import BertVizError
from pages.shared.language import current_language, literal, plain, t, tidy

_LOCALES = Path(__file__).parents[2] / "assets" / "locales"
# What fills a place as the system or a reader of files says it, and its key here;
# what is not among them is shown as it came.
_REASONS = {
    os.strerror(errno.ENOSPC): "app.reason_no_space",
    os.strerror(errno.EACCES): "app.reason_no_permission",
    os.strerror(errno.EPERM): "app.reason_no_permission",
    os.strerror(errno.EROFS): "app.reason_read_only",
    os.strerror(errno.ENOENT): "app.reason_not_found",
    os.strerror(errno.EISDIR): "app.reason_is_folder",
    "binary": "app.reason_binary",
}
_SAID_BY_OTHERS = ("reason", "kind")
logger = logging.getLogger(__name__)


@contextmanager
def shown_to_user(
    stop: bool = True, offer: Callable[[], None] | None = None
) -> Iterator[None]:
    """Turns an error into a sentence in the visitor's language.

    A `BertVizError` says what to do. Anything else is a bug: the log gets the
    traceback, the page one general sentence. `stop` ends the run after it: not where
    the rest does without what failed. `offer` draws a way out below it.
    """
    try:
        yield
    except BertVizError as error:
        st.error(sentence(error.template, error.details), icon=":material/error:")
    except Exception:
        logger.exception("A page failed.")
        st.error(t("app.unexpected_error"), icon=":material/error:")
    else:
        return
    if offer is not None:
        offer()
    if stop:
        st.stop()


def show_error(error: BertVizError | None) -> None:
    """Draws an error that came up before, where there is one."""
    if error is not None:
        with shown_to_user(stop=False):
            raise error


def sentence(template: str, details: dict[str, object]) -> str:
    """A message of the core in the visitor's language, as Markdown."""
    translated = translations(current_language()).get(template, template)
    tidied = {
        name: tidy(_known(name, place)) if isinstance(place, str) else place
        for name, place in details.items()
    }
    # The sentence itself is plain text too: `[MASK]` is no link.
    return literal(translated.format(**tidied))


def _known(name: str, place: str) -> str:
    key = _REASONS.get(place) if name in _SAID_BY_OTHERS else None
    return place if key is None else plain(key)


@functools.cache
def translations(language: str) -> dict[str, str]:
    """Every template of the core with its sentence; empty for English."""
    merged: dict[str, str] = {}
    for path in sorted((_LOCALES / language / "errors").glob("*.json")):
        merged |= json.loads(path.read_text(encoding="utf-8"))
    return merged
