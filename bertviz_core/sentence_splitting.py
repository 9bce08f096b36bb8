"""Cutting a text into sentences, and into neighbours for a next-sentence test.

Pure text, no vocabulary.
"""

import itertools
import re

# A line is a paragraph: two sentences that a line break parts are no neighbours.
_PARAGRAPH = re.compile(r"[\r\n\u2028\u2029]+")
# A full stop with closing quotes or brackets, then space and the beginning of a
# sentence; or a Chinese full stop, after which no space comes.
_SENTENCE_END = re.compile(
    r"""[.!?…]+["'”’»)\]]*(?=\s+["'“‘«(\[]*[A-Z\u00c0-\u024f\u0370-\uffef])"""
    r"""|[。！？；…]+[”’」』）》]*"""
)
_LAST_WORD = re.compile(r"([A-Za-z]+)\.$")
# After these a full stop ends no sentence; single letters are initials.
_ABBREVIATIONS = {
    "Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Jr", "Sr", "Gen", "Col", "Capt", "Lt",
    "Rev", "Hon", "Mt", "No", "vs", "etc", "ca", "cf",
}  # fmt: skip


def split_sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """Cuts a text, English or Chinese, into paragraphs, a line each, of sentences.

    Those of white space alone are left out.
    """
    paragraphs = (sentences_of(line) for line in _PARAGRAPH.split(text))
    return tuple(paragraph for paragraph in paragraphs if paragraph)


def neighbouring_sentences(text: str) -> tuple[tuple[str, str], ...]:
    """Every sentence with the one that follows it in the same paragraph."""
    return tuple(
        pair
        for sentences in split_sentences(text)
        for pair in itertools.pairwise(sentences)
    )


def sentences_of(paragraph: str) -> tuple[str, ...]:
    """Splits a paragraph, a line, into its sentences, none of them empty.

    A rule of thumb: next-sentence prediction needs borders that are mostly
    right, and no text is lost where one is wrong.
    """
    sentences, begin = [], 0
    for match in _SENTENCE_END.finditer(paragraph):
        if not _is_abbreviation(paragraph[begin : match.end()]):
            sentences.append(paragraph[begin : match.end()].strip())
            begin = match.end()
    sentences.append(paragraph[begin:].strip())
    return tuple(sentence for sentence in sentences if sentence)


def _is_abbreviation(sentence: str) -> bool:
    match = _LAST_WORD.search(sentence[-12:])
    if match is None:
        return False
    word = match[1]
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isupper())
