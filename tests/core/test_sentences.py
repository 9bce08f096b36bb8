import pytest

from bertviz_core.mask_text import split_words
from bertviz_core.sentences import LANGUAGES, bundled_sentences


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


def test_a_language_without_sentences_is_refused():
    with pytest.raises(ValueError, match="language"):
        bundled_sentences("fr")
