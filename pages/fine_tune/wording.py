"""Sentences of the core in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from bertviz_core.finetune.notes import Note
from bertviz_core.visitor_files import lease_seconds
from pages.shared.errors import sentence
from pages.shared.language import plain, t


def say(note: Note) -> str:
    """A sentence of the core, as Markdown."""
    template, details = note
    return sentence(template, dict(details))


def show_notes(notes: Sequence[Note]) -> None:
    """Draws notes as a list; nothing where there is none."""
    if notes:
        st.markdown("\n".join(f"- {say(note)}" for note in notes))


def show_warnings(notes: Sequence[Note]) -> None:
    """Draws notes that nobody may miss; nothing where there is none."""
    if notes:
        said = "\n".join(f"- {say(note)}" for note in notes)
        st.warning(said, icon=":material/warning:")


def choice_name(setting: str, choice: str) -> str:
    """What a choice of "decay" or "precision" is called, as plain text."""
    # The other precisions are names of number formats, in any language.
    if setting == "precision" and choice != "auto":
        return choice
    return plain(f"fine_tune.option_{setting}_{choice}")


def duration(seconds: float) -> str:
    """A time for a reader: seconds, minutes or hours, two digits at most."""
    if seconds < 1.5:
        return t("fine_tune.one_second")
    if seconds < 100:
        return t("fine_tune.seconds", count=round(seconds))
    if seconds < 100 * 60:
        return t("fine_tune.minutes", count=round(seconds / 60))
    return t("fine_tune.hours", count=seconds / 3600)


def lease() -> str:
    """How long the engine keeps what nobody asks for, for a reader."""
    return duration(lease_seconds())


def memory(size: int) -> str:
    """Bytes for a reader."""
    return t("app.megabytes", size=size / 1e6)
