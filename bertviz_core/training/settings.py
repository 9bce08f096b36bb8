"""From a JSON object to frozen dataclasses: known keys, right kinds, or a sentence."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from bertviz_core.config import BertConfig
from bertviz_core.errors import TrainingError

Kind = TypeVar("Kind")

PRECISIONS = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class Checked:
    """A dataclass whose values must keep to bounds, as JSON holds it."""

    @classmethod
    def from_dict(cls, raw: Any) -> Self:
        """Takes the values from a parsed JSON object.

        Raises:
            TrainingError: an unknown or missing key, a value of another kind or out of
                its bounds.
            ConfigError: a model's sizes contradict each other.
        """
        return build(cls, raw, "")

    def to_dict(self) -> dict[str, Any]:
        """The values, every default written out."""
        return dataclasses.asdict(self)

    def require(self, name: str, fits: bool, expected: str) -> None:
        """Refuses a value that does not fit: a `TrainingError`.

        What is `expected` is said in signs that need no translation.
        """
        if not fits:
            raise TrainingError(
                "The setting {name} is out of bounds. Expected: {expected}. "
                "Received: {name}={received}. Choose another value.",
                name=name,
                expected=expected,
                received=str(getattr(self, name))[:60],
            )


def build(cls: type[Kind], raw: Any, where: str) -> Kind:
    """Makes a dataclass from a parsed JSON object, nested ones included.

    Its annotations say which kinds are allowed; `where` is the key of the object in its
    file, for messages, "" for the file itself.

    Raises:
        TrainingError: not an object, an unknown or missing key, a wrong kind.
        ConfigError: a model configuration that is none.
    """
    if not isinstance(raw, Mapping):
        raise _wrong_kind(where, raw, "object")
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in raw:
        if key not in fields:
            raise TrainingError(
                "The settings file has a key that is not known. Received: {key}. "
                "Known here: {known}.",
                key=_inside(where, str(key)[:60]),
                known=", ".join(fields),
            )
    for name, field in fields.items():
        if name not in raw and _default(field) is dataclasses.MISSING:
            raise TrainingError(
                "The settings file lacks a key. Expected: {key}. Add it.",
                key=_inside(where, name),
            )
    hints = get_type_hints(cls)
    return cls(
        **{key: _value(hints[key], raw[key], _inside(where, key)) for key in raw}
    )


def stated(settings: Any) -> dict[str, Any]:
    """What a dataclass says beyond its defaults, nested ones likewise.

    Stays the same when a later version has one setting more. By the name of the field;
    lists in place of tuples.
    """
    found: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if value == _default(field):
            continue
        if dataclasses.is_dataclass(value):
            value = stated(value)
        elif isinstance(value, tuple):
            value = [stated(item) for item in value]
        found[field.name] = value
    return found


def fingerprint_of(settings: Any, but: Collection[str] = ()) -> str:
    """Names what a dataclass says, `but` for fields that may change: 16 hex digits.

    Defaults are left out, so that a new setting parts no run from its checkpoints; for
    the same reason no default may change its value.
    """
    kept = {name: v for name, v in stated(settings).items() if name not in but}
    text = json.dumps(kept, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _default(field: dataclasses.Field[Any]) -> Any:
    """A new one where a factory makes it; `MISSING` where there is none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _value(hint: Any, raw: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if hint is BertConfig and isinstance(raw, Mapping):
            unknown = set(raw) - {field.name for field in dataclasses.fields(hint)}
            if not unknown:
                return BertConfig.from_dict(raw, where)
        return build(hint, raw, where)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        if not isinstance(raw, list | tuple):
            raise _wrong_kind(where, raw, "array")
        return tuple(_value(get_args(hint)[0], item, where) for item in raw)
    if get_origin(hint) is dict:
        if not isinstance(raw, Mapping):
            raise _wrong_kind(where, raw, "object")
        kind = get_args(hint)[1]
        return {str(key): _value(kind, raw[key], _inside(where, key)) for key in raw}
    if isinstance(hint, types.UnionType):
        if raw is None:
            return None
        return _value(get_args(hint)[0], raw, where)
    return _plain(hint, raw, where)


def _plain(kind: type, raw: Any, where: str) -> Any:
    """A bool, int, float or str; JSON's 1 serves for 1.0, and 1e6 for 1000000."""
    is_number = isinstance(raw, int | float) and not isinstance(raw, bool)
    if kind is float and is_number:
        return float(raw)
    if kind is int and is_number and raw == raw // 1:
        return int(raw)
    if kind in (bool, str) and isinstance(raw, kind):
        return raw
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    raise _wrong_kind(where, raw, names[kind])


def _inside(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _wrong_kind(where: str, raw: Any, expected: str) -> TrainingError:
    return TrainingError(
        "The setting {key} is of the wrong kind. Expected: {expected}. Received: "
        "{received}. Change it in the settings file.",
        key=where or "settings",
        expected=expected,
        received=str(raw)[:60],
    )
