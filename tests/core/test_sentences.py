from pathlib import Path

import pytest

from bertviz_core.mask_text import split_words
from bertviz_core.sentences import LANGUAGES, bundled_sentences

FOLDER = Path(__file__).parents[2] / "assets" / "sentences"


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_different_sentences_and_pairs_of_all_lengths(language):
    sentences = bundled_sentences(language)
    assert len(sentences) == len(set(sentences)) >= 110
    assert sum(sentence.pair is not None for sentence in sentences) >= 20
    texts = [text for one in sentences for text in (one.text, one.pair) if text]
    assert all(text == text.strip() and text for text in texts)
    lengths = [len(split_words(f"{one.text} {one.pair or ''}")) for one in sentences]
    assert min(lengths) <= 6
    assert 40 <= max(lengths) <= 64
    assert len(set(lengths)) > 20


def test_each_language_is_written_in_its_own_script():
    def share_of_ideographs(language):
        text = "".join(one.text for one in bundled_sentences(language))
        return sum("\u4e00" <= sign <= "\u9fff" for sign in text) / len(text)

    assert share_of_ideographs("en") == 0
    assert share_of_ideographs("zh") > 0.8


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_that_heads_are_measured_on_occurs(language):
    sentences = bundled_sentences(language)
    assert any(one.text.endswith(("?", "？")) for one in sentences)
    assert any(one.text.startswith(('"', "“")) for one in sentences)
    repeating = [
        one
        for one in sentences
        if len(kept := [w.text for w in split_words(one.text) if w.text.isalpha()])
        > len(set(kept))
    ]
    assert len(repeating) > 20


def test_a_language_without_sentences_is_refused():
    with pytest.raises(ValueError, match="language"):
        bundled_sentences("fr")
