"""Fills the places of a short program with what a reader chose, as literals."""

import string

import numpy as np

Literal = str | int | float | bool | None | tuple["Literal", ...]


def write_snippet(template: str, **values: object) -> str:
    """Writes a program with a reader's own text and settings in it.

    Every value becomes one literal of Python. Whatever a text holds, quotes, braces
    or line breaks, it stays the inside of a string.

    Args:
        template: lines of Python with named places, `{text}`.
        values: for each place, of the types of `Literal`; numbers of NumPy too.

    Raises:
        ValueError: a place without a value, a value without a place, or a value
            that no literal says.

    Example:
        >>> write_snippet("print({text}, {count})", text="{x}", count=2).rstrip()
        "print('{x}', 2)"
    """
    places = {name for _, name, _, _ in string.Formatter().parse(template) if name}
    if places != set(values):
        raise ValueError(
            f"The template has the places {sorted(places)}. Received: {sorted(values)}."
        )
    filled = template.format(**{name: literal(v) for name, v in values.items()})
    return filled.strip("\n") + "\n"


def literal(value: object) -> str:
    """How Python writes a plain value.

    Characters that show nothing, or turn the reading direction, are escaped.

    Raises:
        ValueError: not among the types of `Literal`, or a number that is not
            finite.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        inside = ", ".join(literal(part) for part in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if value is None or isinstance(value, str | bool | int):
        # A subclass may have a `repr` of its own, such as text marked as Markdown.
        plain = str(value) if isinstance(value, str) else value
        return repr(plain)
    if isinstance(value, float) and np.isfinite(value):
        return repr(value)
    raise ValueError(f"No literal says this value. Received: {value!r}.")
