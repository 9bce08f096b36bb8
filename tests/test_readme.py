"""Both READMEs: the same commands, and the pages by their names in the app."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from bertviz_core.training.pretrain.settings import (
    MAY_CHANGE,
    CorpusSettings,
    MaskingSettings,
    Phase,
    PretrainSettings,
    SequenceSettings,
)
from bertviz_core.training.schedule import OptimizerSettings

ROOT = Path(__file__).parents[1]
ENGLISH = (ROOT / "README.md").read_text("utf-8")
CHINESE = (ROOT / "README.zh.md").read_text("utf-8")


def blocks(text):
    """What stands between fences, without comments."""
    found = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    return [re.sub(r" *#.*", "", block) for block in found]


def table_under(text, *headings):
    """Cells of the rows below the one of these headings that a text has."""
    heading = next(heading for heading in headings if heading in text)
    table = text[text.index(heading) :].split("\n\n")[0]
    return [line.split("|")[1:-1] for line in table.splitlines()[2:]]


def test_every_command_of_the_chinese_readme_stands_in_the_english_one():
    assert len(blocks(CHINESE)) >= 4
    assert [b for b in blocks(CHINESE) if b not in blocks(ENGLISH)] == []


@pytest.mark.parametrize(("language", "text"), [("en", ENGLISH), ("zh", CHINESE)])
def test_the_pages_are_those_of_the_app_by_their_names(language, text):
    words = json.loads(
        (ROOT / f"assets/locales/{language}/app.json").read_text("utf-8")
    )
    names = [value for key, value in words.items() if key.startswith("page_")]
    rows = table_under(text, "| page |", "| 页面 |")
    assert sorted(cells[0].strip() for cells in rows) == sorted(names)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_what_it_links_to_exists(text):
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert len(links) >= 4
    assert [link for link in links if not (ROOT / link).exists()] == []


def settings_rows(text=ENGLISH):
    """The table of what can be set: the names of each row, by what stands first."""
    return {
        name: re.findall(r"`(\w+)`", meaning)
        for names, meaning in table_under(text, "| setting |", "| 设置 |")
        for name in re.findall(r"`(\w+)`", names)
    }


def test_every_setting_of_pre_training_is_named_in_both_languages_and_no_other():
    english, chinese = settings_rows(), settings_rows(CHINESE)
    fields = [field.name for field in dataclasses.fields(PretrainSettings)]
    assert sorted(english) == sorted(fields)
    assert list(chinese) == list(english)
    for name, named in english.items():
        assert set(chinese[name]) == set(named), name


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_variable_that_the_code_reads_is_explained(text):
    files = [*(ROOT / "bertviz_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    read = {
        name
        for file in files
        for name in re.findall("BERTVIZ_[A-Z_]+", file.read_text("utf-8"))
    }
    assert sorted(re.findall(r"^\| `(BERTVIZ_\w+)` \|", text, re.M)) == sorted(read)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("phases", Phase),
        ("corpus", CorpusSettings),
        ("masking", MaskingSettings),
        ("sequences", SequenceSettings),
        ("optimizer", OptimizerSettings),
    ],
)
def test_every_setting_inside_another_is_named_beside_it(name, kind):
    fields = {field.name for field in dataclasses.fields(kind)}
    assert fields - set(settings_rows()[name]) == set()


def test_what_may_change_when_a_run_goes_on_is_told():
    steps = [name for name in MAY_CHANGE if name.endswith("_steps")]
    assert [n for n in MAY_CHANGE if n not in steps] == ["model_name"]
    told = settings_rows()
    assert {name for name in told if "model_name" in told[name]} == set(steps)
