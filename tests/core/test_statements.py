"""What pages say of models in general holds on both bundled ones.

Each test names the text (file and key under `assets/locales`) that says so.
"""

from __future__ import annotations

import numpy as np
import pytest

from bertviz_core.analysis.head_profiles import (
    HEAD_NAMES,
    LEAST_ROWS,
    RELATIONS,
    name_heads,
    telling_head,
)
from bertviz_core.experiments.attention_matrix import profile_heads
from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.next_sentence import predict_next_sentence
from bertviz_core.experiments.word_vectors import solve_analogy, word_vectors
from bertviz_core.explorer import Explorer
from bertviz_core.sentence_splitting import neighbouring_sentences
from bertviz_core.sentences import bundled_text
from tests.core.bundled import open_bundled

# Short and long, with no mask, one and two.
TEXTS = {
    "en": (
        "No.",
        "The cat sat on the mat.",
        "Paris is the capital of [MASK].",
        "She opened the [MASK] and looked at the [MASK].",
        bundled_text("passages", "en")[:400],
    ),
    "zh": (
        "好。",
        "猫坐在垫子上。",
        "他会说英[MASK]和法语。",
        "她打开了[MASK]，看了看[MASK]。",
        bundled_text("passages", "zh")[:120],
    ),
}
ANALOGIES = {
    "en": [
        ("king", "man", "woman", "queen"),
        ("paris", "france", "italy", "rome"),
        ("bigger", "big", "small", "smaller"),
        ("brother", "man", "woman", "sister"),
    ],
    "zh": [
        ("父", "男", "女", "母"),
        ("兄", "男", "女", "妹"),
        ("夏", "热", "冷", "冬"),
        ("爸", "男", "女", "妈"),
    ],
}

both = pytest.mark.parametrize("language", ["en", "zh"])


def model(language: str) -> Explorer:
    return open_bundled(f"bert-mini-{language}")


@both
def test_many_heads_look_at_special_tokens_more_than_evenly(language):
    """attention.hide_special_help, glossary.special_tokens_meaning"""
    for text in TEXTS[language]:
        trace = model(language).trace(text)
        tokens = np.array(trace.tokenized.tokens)
        to_each = trace.attention_probs.mean(axis=2)  # [L, N, K]
        special = np.isin(tokens, ["[CLS]", "[SEP]"])
        more = to_each[..., special].sum(axis=-1) > special.mean()
        assert more.mean() > 0.5, text
        if len(tokens) < 20:
            assert (to_each[..., tokens == "[SEP]"].sum(axis=-1) > 0.5).any(), text


@both
def test_no_head_gives_more_to_a_neighbour_or_the_same_word(language):
    """attention.opens_previous_token and the two beside it"""
    for text in TEXTS[language]:
        found = profile_heads(model(language), model(language).trace(text))
        first = telling_head(name_heads(found.profile))
        if first is None:
            assert len(model(language).tokenize(text).tokens) <= LEAST_ROWS, text
            continue
        shares = [found.profile.of(HEAD_NAMES[name]) for name in RELATIONS]
        assert first.score == np.nanmax(shares), text


@both
def test_a_seen_word_is_mostly_the_best_guess(language):
    """masked.positions_seen_help, layer_steps.about_mlm_transform"""
    for text in TEXTS[language]:
        found = predict_every_position(model(language), text, masked=False)
        ranks = found.ranks[found.ranks > 0]
        assert (ranks == 1).mean() > 0.5, text


@both
def test_the_nearest_entry_of_an_analogy_is_often_one_of_its_words(language):
    """embeddings.rank_told_help"""
    explorer = model(language)
    vectors = word_vectors(explorer)
    found = [
        solve_analogy(explorer, vectors, inputs, expected).nearest.words[0] in inputs
        for *inputs, expected in ANALOGIES[language]
    ]
    assert np.mean(found) > 0.5


@both
def test_next_sentences_go_by_topic(language):
    """masked.next_lesson, masked.shuffled_lesson"""
    groups = [
        neighbouring_sentences(x)
        for x in bundled_text("passages", language).split("\n")
    ]
    groups = [pairs for pairs in groups if pairs]
    explorer = model(language)
    asked = [predict_next_sentence(explorer, *pair) for g in groups for pair in g]
    high = [min(one.probability, one.probability_swapped) > 0.5 for one in asked]
    assert np.mean(high) > 0.5
    # A second text of the same passage, and of another one: "no" is right.
    said_no = []
    for step in (0, 1):
        seconds = [{*sum(pairs, ())} for pairs in groups[step:] + groups[:step]]
        asked = [
            predict_next_sentence(explorer, first, min(others - {first, follows}))
            for pairs, others in zip(groups, seconds, strict=True)
            for first, follows in pairs
        ]
        said_no.append(np.mean([one.probability <= 0.5 for one in asked]))
    assert said_no[0] < said_no[1] - 0.2
