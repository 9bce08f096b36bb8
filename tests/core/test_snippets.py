import ast
import inspect
import string

import numpy as np
import pytest

from bertviz_core.snippets import (
    activations,
    attention,
    layers,
    masked_sentences,
    masked_words,
)
from bertviz_core.snippets.writing import literal, write_snippet
from tests.core.nasty_texts import NASTY_TEXTS

MODULES = (attention, masked_words, masked_sentences, layers, activations)
TEMPLATES = {
    f"{module.__name__}.{name}": template
    for module in MODULES
    for name, template in vars(module).items()
    if name.isupper()
}
HOSTILE = (
    "'); import os; os.system('x') #",
    '"""',
    "{model} {0} {{}} %s",
    "\\",
    "a\nb\r\tc\x00",
    "\ud800",
    "\u202egnp.exe",
    "",
)


def strings_of(program):
    return [
        node.value
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("text", [*HOSTILE, *NASTY_TEXTS])
def test_any_text_stays_inside_its_string(text):
    program = write_snippet("print({text})", text=text)
    assert strings_of(program) == [text]
    assert ast.dump(ast.parse(program)).count("Call(") == 1
    assert program.count("\n") == 1
    # A mark that turns the reading direction is escaped.
    assert "\u202e" not in program


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -7, 0.1, 1e-9, (), ("a",), (1, "b", None), np.float64(0.25)],
)
def test_plain_values_are_what_python_reads_back(value):
    assert ast.literal_eval(literal(value)) == value
    assert literal(np.int64(5)) == "5"
    assert literal(np.float32(0.5)) == "0.5"


class Marked(str):
    __slots__ = ()

    def __repr__(self):
        return "__import__('os')"


def test_text_that_is_marked_is_written_as_text():
    assert literal(Marked("a")) == "'a'"
    for values in ({}, {"a": 1}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(ValueError, match="places"):
            write_snippet("print({a}, {b})", **values)


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, float("nan"), float("inf"), object(), np.arange(2)]
)
def test_what_has_no_literal_is_refused(value):
    with pytest.raises(ValueError, match="literal"):
        literal(value)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_program_is_short_and_imports_only_this_package(name):
    template = TEMPLATES[name]
    places = {place for _, place, _, _ in string.Formatter().parse(template) if place}
    program = write_snippet(template, **dict.fromkeys(places, 1))
    lines = [line for line in program.splitlines() if line]
    assert 5 <= len(lines) <= 15
    assert max(map(len, lines)) <= 88
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom):
            module = __import__(node.module, fromlist=["x"])
            for alias in node.names:
                assert hasattr(module, alias.name) or inspect.ismodule(
                    __import__(f"{node.module}.{alias.name}", fromlist=["x"])
                )
        assert not isinstance(node, ast.Import)
