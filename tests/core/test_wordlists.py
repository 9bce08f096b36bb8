import numpy as np
import pytest

from bertviz_core.analysis.wordlists import KINDS, entries_of_kind
from bertviz_core.trace import SPECIAL_TOKENS
from tests.core.random_models import VOCABULARY

KINDS_OF = {
    "cat": set(),
    "##s": {"piece", "single_character"},
    "##ing": {"piece"},
    "##红": {"piece", "single_character", "cjk"},
    "红": {"single_character", "cjk"},
    "𠮷": {"single_character", "cjk"},
    "苹果": {"cjk"},
    "か": {"single_character"},  # kana
    "한": {"single_character"},  # Hangul
    "。": {"single_character"},  # a punctuation mark
    "#": {"single_character"},
    "##": set(),
    "###": {"piece", "single_character"},
    "[unused0]": {"unused"},
    "[unused993]": {"unused"},
    "[unused]": set(),
    "[unusedx]": set(),
    "[MASK]": {"special"},
    "[mask]": set(),
    "[row 57]": {"empty"},
    "[row]": set(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_its_entries_and_no_other(kind):
    expected = [kind in kinds for kinds in KINDS_OF.values()]
    assert entries_of_kind(list(KINDS_OF), kind).tolist() == expected
    assert any(expected)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="verb"):
        entries_of_kind(["a"], "verb")


def test_the_special_entries_are_those_of_the_tokenizer():
    found = entries_of_kind(VOCABULARY, "special")
    assert {VOCABULARY[i] for i in np.flatnonzero(found)} == set(SPECIAL_TOKENS)
