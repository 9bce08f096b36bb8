"""User text in Markdown is shown letter for letter."""

import re
from pathlib import Path

import pytest

from pages.shared.language import (
    MAX_CHARACTERS,
    Markdown,
    escape,
    literal,
    spoken,
    table,
    text,
    tidy,
)

ROOT = Path(__file__).parents[2]
JOINER = "\u2060"

# What a reader of the parsed Markdown must see again, character for character.
NASTY = [
    "**bold** _it_ ~~gone~~ `code`",
    "[link](https://example.org) ![image](x.png)",
    "<script>alert(1)</script> <b>&amp; &#42;",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "a | b | c",
    "$x^2$ and $$y$$",
    ":red[alarm] :material/home: :smile: :+1:",
    "www.example.org and me@example.org",
    r"back\slash \* and \\",
    "{braces} and %s",
    "<- -> <-> -- >= <= ~=",
    "[MASK] ##ing",
]


def unescaped(markdown):
    """What CommonMark shows: a backslash before ASCII punctuation is dropped."""
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)
    return shown.replace(JOINER, "")


@pytest.mark.parametrize("text", NASTY)
def test_every_letter_comes_back(text):
    assert unescaped(escape(text)) == text


@pytest.mark.parametrize("text", NASTY)
def test_no_punctuation_is_left_bare(text):
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", escape(text))
    assert not re.search(r"[!-/:-@\[-`{-~]", bare)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (":smile:", r":smile:"),
        (":material/home:", r":material/home:"),
        ("http://x.org", "://"),
        ("www.x.org", r"www\."),
        ("a@b.org", "@b"),
        ("a -> b", "->"),
        ("a <-> b", "<->"),
        ("a -- b", "--"),
        ("a >= b", ">="),
    ],
)
def test_streamlits_extras_find_nothing_to_replace(text, code):
    # They search the text after Markdown has dropped the backslashes.
    parsed = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escape(text))
    assert not re.search(code, parsed)


def test_a_text_is_escaped_once():
    once = escape("a*b")
    assert escape(once) == once == r"a\*b"
    assert isinstance(once, Markdown)


def test_line_breaks_and_controls_become_one_line():
    assert tidy(" a\n\n    b\tc\x00d ") == "a b c\ufffdd"
    assert tidy("half \ud83d of a pair") == "half \ufffd of a pair"


def test_a_long_text_ends_in_an_ellipsis():
    shown = tidy("x" * (MAX_CHARACTERS + 1))
    assert len(shown) == MAX_CHARACTERS
    assert shown.endswith("x…")
    assert tidy("x" * MAX_CHARACTERS) == "x" * MAX_CHARACTERS


def test_right_to_left_text_is_isolated():
    assert tidy("שלום") == "\u2068שלום\u2069"
    assert tidy("hello") == "hello"


def test_marks_that_turn_the_reading_direction_are_left_out():
    assert tidy("abc\u202egnp.exe\u2066") == "abcgnp.exe"


def test_an_emoji_and_chinese_stay_as_they_are():
    assert escape("🙂 你好") == "🙂 你好"


def test_literal_keeps_spaces_at_the_ends():
    assert literal(" a_b ") == r" a\_b "


def test_a_table_cell_cannot_leave_its_cell():
    written = table(["a|b", "c"], [["x\ny", "| z"]])
    assert written.splitlines() == [r"| a\|b | c |", "| --- | --- |", r"| x y | \| z |"]


def test_a_screen_reader_gets_the_letters_alone():
    assert spoken(f"**Best:** {escape('a*b `c` http://x')}") == "Best: a*b `c` http://x"


def test_no_page_lets_markdown_make_html():
    for path in (ROOT / "pages").rglob("*.py"):
        assert "unsafe_allow_html" not in path.read_text("utf-8"), path


@pytest.mark.parametrize(
    ("value", "said"), [(-1.5, "−1.500"), (1.5, "+1.500"), (-1e-9, "+0.000")]
)
def test_a_number_below_0_in_a_sentence_has_a_minus(value, said):
    assert text("attention.points", "en", value=value) == f"{said} points"
