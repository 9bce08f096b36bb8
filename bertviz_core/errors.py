"""The errors that a user can cause.

A message is an English sentence with named places: what is wrong, what was
received, what to do. The app shows the same sentence in the user's language: it
looks the template up in `assets/locales/<language>/errors.json` and fills the
same places. Mistakes of a programmer raise `ValueError` instead.
"""

from __future__ import annotations

from typing import Any


class BertVizError(Exception):
    """Something a user can mend. `str(error)` is the English sentence.

    Args:
        template: an English sentence with `{named}` places. Write it as one
            literal: a test collects the templates and asks for translations.
        details: what fills the places; numbers and strings only, so that an
            error survives the way between processes.
    """

    def __init__(self, template: str, **details: Any) -> None:
        super().__init__(template.format(**details))
        self.template = template
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.template, self.details)


def reason_of(error: Exception) -> str:
    """Why a file could not be read or written, in short and without its path."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)[:120]


def _rebuild(
    kind: type[BertVizError], template: str, details: dict[str, Any]
) -> BertVizError:
    return kind(template, **details)


class ConfigError(BertVizError):
    """A model configuration that contradicts itself or is not BERT's."""


class TokenizerError(BertVizError):
    """A vocabulary that cannot be used."""


class TextError(BertVizError):
    """A text that cannot be looked at as it stands: empty, too long, no mask."""


class CheckpointError(BertVizError):
    """A checkpoint that is absent, broken, hostile or does not fit its config."""


class DatasetError(BertVizError):
    """A table of examples that cannot be used."""


class ValidationFileError(DatasetError):
    """The same, where a visitor brought two tables and it is the one to judge by."""

    @classmethod
    def of(cls, error: DatasetError) -> ValidationFileError:
        return cls(error.template, **error.details)


class TrainingError(BertVizError):
    """A training run that cannot start or go on."""


class StorageError(BertVizError):
    """There is no room for what a visitor wants to keep."""


class EngineError(BertVizError):
    """The process that runs the model is gone, busy or out of reach."""


# In both texts together. Splitting them takes a second, and memory for each piece.
MAX_CHARACTERS = 200_000


def require_characters(*texts: str | None) -> None:
    """Refuses a text, or several to read together, too long even to be split.

    Raises:
        TextError: names both numbers.
    """
    num_characters = sum(len(text or "") for text in texts)
    if num_characters > MAX_CHARACTERS:
        raise TextError(
            "The text is too long to be split into tokens. Received: {num_characters} "
            "characters; the limit is {limit}. Shorten the text.",
            num_characters=num_characters,
            limit=MAX_CHARACTERS,
        )


def require_positions(num_tokens: int, max_tokens: int) -> None:
    """Refuses a text beyond the last position, special tokens counted.

    Raises:
        TextError: names both numbers.
    """
    if num_tokens > max_tokens:
        raise TextError(
            "The text is too long for this model. Received: {num_tokens} tokens; "
            "the model has {max_tokens} positions. Shorten the text or cut it there.",
            num_tokens=num_tokens,
            max_tokens=max_tokens,
        )


def require_index(name: str, index: int, size: int) -> None:
    """Refuses an index below 0, or from `size` on, by a `ValueError`."""
    if not 0 <= index < size:
        raise ValueError(
            f"`{name}` must be at least 0 and below {size}. Received: {index}."
        )
