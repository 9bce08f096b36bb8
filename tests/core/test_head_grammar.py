"""Heads against grammar: files, words of tokens, and shares by hand."""

import numpy as np
import pytest

from bertviz_core.analysis.head_grammar import LEAST_ROWS, head_grammar, word_attention
from bertviz_core.analysis.treebank import (
    MAX_SENTENCES,
    ParsedSentence,
    bundled_treebank,
    read_treebank,
    word_tokens,
)
from bertviz_core.errors import TextError
from bertviz_core.experiments.head_grammar import grammar_of_heads
from tests.core.bundled import open_bundled

# With a multiword token, an empty node and a subtype.
CONLLU = """\
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tdo\t_\tAUX\t_\t_\t3\taux\t_\tSpaceAfter=No
2\tn't\t_\tPART\t_\t_\t3\tadvmod\t_\t_
3\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_
3.1\tnow\t_\tADV\t_\t_\t_\t_\t_\t_
4\tcats\t_\tNOUN\t_\t_\t3\tnsubj:pass\t_\tSpaceAfter=No
5\t!\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_
"""


def test_a_treebank_is_words_with_their_grammar():
    (one,) = read_treebank(CONLLU)
    assert one.text == "don't sleep cats! "
    assert [one.text[slice(*span)] for span in one.spans] == [
        *("do", "n't", "sleep", "cats", "!")
    ]
    assert one.parts_of_speech == ("AUX", "PART", "VERB", "NOUN", "PUNCT")
    assert one.heads == (2, 2, -1, 2, 2)
    assert one.relations == ("aux", "advmod", "root", "nsubj", "punct")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_bundled_sentence_is_a_tree_and_read_as_it_is_written(language):
    conllu = bundled_treebank(language)
    written = [li[9:] for li in conllu.splitlines() if li.startswith("# text = ")]
    sentences = read_treebank(conllu)
    assert [one.text.strip() for one in sentences] == written
    for one in sentences:
        assert one.heads.count(-1) == 1
        assert [name == "root" for name in one.relations] == [h < 0 for h in one.heads]
        for word in range(len(one.heads)):
            above, seen = word, set()
            while above >= 0:
                assert above not in seen
                seen.add(above)
                above = one.heads[above]


@pytest.mark.parametrize(
    "conllu",
    [
        "",
        "# only a comment\n",
        "a b c\n",
        "1\tx\n",
        CONLLU.replace("\t3\taux", "\t9\taux"),
        CONLLU.replace("\t3\taux", "\tx\taux"),
        "\n".join([CONLLU] * (MAX_SENTENCES + 1)),
    ],
)
def test_what_is_no_treebank_ends_in_a_sentence(conllu):
    with pytest.raises(TextError, match="Received"):
        read_treebank(conllu)


def test_attention_between_words_sums_over_tokens_looked_at_and_averages_lookers():
    # [CLS] a b1 b2 [SEP]
    attention = np.array(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.5, 0.1, 0.1, 0.2, 0.1],
            [0.1, 0.6, 0.1, 0.1, 0.1],
            [0.0, 0.2, 0.4, 0.4, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )[None, None]
    tokens = np.array([[0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]], bool)
    between = word_attention(attention, tokens)[0, 0]
    # Each has one other word, so all that is left goes there; a cut word looks nowhere.
    np.testing.assert_allclose(between, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def sentence(tags, heads, relations):
    spans = tuple((2 * i, 2 * i + 1) for i in range(len(tags)))
    return ParsedSentence("x " * len(tags), spans, tags, heads, relations)


def test_shares_and_relations_by_hand():
    # "cats sleep here ." twelve times, so that it is often enough.
    one = sentence(
        ("NOUN", "VERB", "ADV", "PUNCT"),
        (1, -1, 1, 1),
        ("nsubj", "root", "advmod", "punct"),
    )
    tokens = np.eye(4, dtype=bool)
    verb = np.array(  # looks at the verb, which looks at the noun; never mind "."
        [
            [0.0, 0.6, 0.2, 0.2],
            [0.5, 0.0, 0.3, 0.2],
            [0.1, 0.7, 0.0, 0.2],
            [0.3, 0.3, 0.4, 0.0],
        ]
    )
    left = np.array(  # looks at the word before, the first at the last
        [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], float
    )
    attention = np.stack([verb, left])[None]
    found = head_grammar([one] * 12, ((i, attention, tokens) for i in range(12)))
    assert found.parts_of_speech == ("ADV", "NOUN", "VERB")
    assert found.num_words == 36
    np.testing.assert_allclose(found.part_baselines, [1 / 3] * 3)
    nouns, verbs = found.part_shares[1:, 0, 0]
    assert nouns == pytest.approx((5 / 8 + 1 / 8) / 3)
    assert verbs == pytest.approx((6 / 8 + 7 / 8) / 3)
    assert found.best_part(0, 0) == 2
    assert found.relations == ("advmod", "advmod of", "nsubj", "nsubj of")
    assert found.counts.tolist() == [12] * 4
    # Right of the verb head: advmod, nsubj, nsubj of; it never looks for the adverb.
    assert found.accuracies[:, 0, 0].tolist() == [1, 0, 1, 1]
    assert found.accuracies[:, 0, 1].tolist() == [1, 0, 0, 1]
    # Each relation is always equally far here, so nothing beats that.
    assert found.baselines.tolist() == [1] * 4
    assert found.offsets.tolist() == [-1, 1, 1, -1]
    assert found.best_relation(0, 0) is None


def test_few_cases_name_nothing():
    one = sentence(("NOUN", "VERB"), (1, -1), ("nsubj", "root"))
    attention = np.ones((1, 1, 2, 2)) / 2
    count = LEAST_ROWS - 1
    tokens = np.eye(2, dtype=bool)
    found = head_grammar([one] * count, ((i, attention, tokens) for i in range(count)))
    assert found.counts.tolist() == [count, count]
    assert found.best_part(0, 0) is None
    assert found.best_relation(0, 0) is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_words_are_found_among_the_tokens_of_the_bundled_model(language):
    explorer = open_bundled(f"bert-mini-{language}")
    for one in read_treebank(bundled_treebank(language)):
        text = explorer.tokenize(one.text)
        tokens = word_tokens(one, text)
        assert (tokens.sum(axis=0) == ~text.is_added).all()
        for word, (start, end) in enumerate(one.spans):
            pieces = [text.tokens[i] for i in np.flatnonzero(tokens[word])]
            said = "".join(piece.removeprefix("##") for piece in pieces)
            assert said == one.text[start:end].lower()


def test_a_chinese_head_finds_the_verb_of_an_object():
    found = grammar_of_heads(open_bundled("bert-mini-zh"), "zh")
    objects = found.relations.index("obj")
    assert found.counts[objects] >= LEAST_ROWS
    assert found.accuracies[objects].max() > 2 * found.baselines[objects]
    np.testing.assert_allclose(found.part_shares.sum(axis=0), 1.0)
