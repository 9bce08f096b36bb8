"""What heads do: measured on one text, on many, and against grammar."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from bertviz_core.analysis.head_distances import (
    divergence_sums,
    nearest_heads,
    order_by_likeness,
)
from bertviz_core.analysis.head_grammar import LEAST_ROWS as LEAST_CASES
from bertviz_core.analysis.head_grammar import head_grammar, word_attention
from bertviz_core.analysis.head_profiles import (
    LEAST_ROWS,
    MEASURES,
    SHARE_THRESHOLD,
    HeadProfile,
    head_profile,
    name_heads,
    telling_head,
)
from bertviz_core.analysis.treebank import (
    MAX_SENTENCES,
    ParsedSentence,
    read_treebank,
    word_tokens,
)
from bertviz_core.errors import TextError
from bertviz_core.experiments import corpus_profiles
from bertviz_core.experiments.corpus_profiles import corpus_profile, grammar_of_heads
from bertviz_core.sentences import Sentence, bundled_text
from tests.core.bundled import open_bundled
from tests.core.random_models import CONFIG, agree, explorer_of, random_model

L, N, T = 2, 3, 7
#                   [CLS] a  b [SEP] a  c [SEP]
IDS = np.array([3, 8, 9, 4, 8, 7, 4])
SEGMENTS = np.array([0, 0, 0, 0, 1, 1, 1])
SPECIAL = np.array([1, 0, 0, 1, 0, 0, 1], bool)
WORD = ~SPECIAL


def random_attention(seed=6, tokens=T):
    return np.random.default_rng(seed).dirichlet(np.ones(tokens), (L, N, tokens))


def row_by_row(attention, ids=IDS, segments=SEGMENTS, special=SPECIAL, edges=None):
    """Measure to the numbers of its rows, of one head, from the words alone."""
    tokens = len(ids)
    found = {name: [] for name in MEASURES}
    for q, row in enumerate(attention):
        bits = sum(-p * math.log2(p) for p in row if p > 0)
        seen = tokens if edges is None else edges[q].sum()
        found["entropy_bits"].append(bits)
        if seen > 1:
            found["evenness"].append(bits / math.log2(seen))
        found["mean_distance"].append(sum(p * abs(q - k) for k, p in enumerate(row)))
        if q > 0:
            found["to_previous"].append(row[q - 1])
        if q < tokens - 1:
            found["to_next"].append(row[q + 1])
        found["to_self"].append(row[q])
        found["to_cls"].append(row[0])
        found["to_separators"].append(
            sum(p for k, p in enumerate(row) if special[k] and k > 0)
        )
        if len(set(segments)) > 1:
            found["to_other_segment"].append(
                sum(p for k, p in enumerate(row) if segments[k] != segments[q])
            )
        again = [k for k in range(tokens) if ids[k] == ids[q] and k != q]
        if again and not special[q]:
            found["to_same_word"].append(sum(row[k] for k in again))
    return found


@pytest.mark.parametrize("special", [SPECIAL, np.zeros(T, bool)])
def test_every_measure_is_the_mean_of_its_rows(special):
    attention = random_attention()
    attention[0, 1], attention[0, 1, :, 2:4] = 0, 0.5  # zeros add no entropy
    profile = head_profile(attention, IDS, SEGMENTS, special, ~special)
    for layer, head in np.ndindex(L, N):
        rows_of = row_by_row(attention[layer, head], special=special)
        for index, (name, rows) in enumerate(rows_of.items()):
            assert profile.num_rows[index] == len(rows)
            expected = pytest.approx(sum(rows) / len(rows), abs=1e-12)
            assert profile.of(name)[layer, head] == expected


def test_the_baseline_is_attention_spread_evenly_over_what_is_visible():
    edges = np.abs(np.subtract.outer(range(T), range(T))) <= 1
    edges[0] = [True] + [False] * (T - 1)  # a row that sees itself only
    even = edges / edges.sum(axis=-1, keepdims=True)
    sums = head_profile(random_attention() * edges, IDS, SEGMENTS, SPECIAL, WORD, edges)
    for index, (_, rows) in enumerate(row_by_row(even, edges=edges).items()):
        assert sums.num_rows[index] == len(rows)
        assert sums.baselines[index] == pytest.approx(sum(rows) / len(rows))
    assert sums.baselines[MEASURES.index("evenness")] == pytest.approx(1)


def test_each_row_of_each_text_counts_alike():
    long, short = random_attention(), random_attention(9, tokens=4)
    part = IDS[:4], SEGMENTS[:4], SPECIAL[:4]
    sums = head_profile(long, IDS, SEGMENTS, SPECIAL, WORD)
    profile = sums + head_profile(short, *part, WORD[:4])
    assert profile.num_texts == 2
    for name in MEASURES:
        rows = row_by_row(long[1, 2])[name] + row_by_row(short[1, 2], *part)[name]
        assert profile.of(name)[1, 2] == pytest.approx(sum(rows) / len(rows))
    # The short text is no pair and repeats no word: its rows do not dilute these.
    assert profile.num_rows[MEASURES.index("to_other_segment")] == T
    assert profile.num_rows[MEASURES.index("to_same_word")] == 2


def test_a_text_of_one_token_has_numbers_where_they_mean_something():
    one = np.ones((L, N, 1, 1))
    profile = head_profile(one, IDS[:1], SEGMENTS[:1], SPECIAL[:1], WORD[:1])
    assert profile.of("entropy_bits")[0, 0] == 0
    assert profile.of("to_self")[0, 0] == 1
    for name in ("evenness", "to_previous", "to_next", "to_same_word"):
        assert np.isnan(profile.of(name)).all()
    assert name_heads(profile) == ()


def one_kind_of_head(kind):
    """One head that does one thing with seven tenths of its attention."""
    tokens = 12
    ids = np.array([3, 8, 9, 8, 9, 8, 9, 8, 9, 7, 6, 4])
    special = np.isin(ids, (3, 4))
    attention = np.full((1, 1, tokens, tokens), 0.3 / (tokens - 1))
    if kind == "broad":
        attention[:] = 1 / tokens
    for q in range(tokens):
        again = [k for k in range(tokens) if ids[k] == ids[q] and k != q]
        targets = {
            "previous token": max(q - 1, 0),
            "next token": min(q + 1, tokens - 1),
            "itself": q,
            "[CLS]": 0,
            "[SEP]": tokens - 1,
            "same word elsewhere": again[0] if again else (q + 5) % tokens,
        }
        if kind in targets:
            attention[0, 0, q, targets[kind]] = 0.7
    segments = np.zeros(tokens, int)
    return head_profile(attention, ids, segments, special, ~special)


def test_two_words_that_are_unknown_or_hidden_are_not_the_same_word():
    """Ids as in "[CLS] a [UNK] [UNK] a [MASK] [MASK] [SEP]"."""
    ids = np.array([3, 8, 1, 1, 8, 5, 5, 4])
    attention = np.full((1, 1, 8, 8), 1 / 8)
    special, word = np.isin(ids, (3, 4)), ids == 8
    sums = head_profile(attention, ids, np.zeros(8, int), special, word)
    assert sums.num_rows[MEASURES.index("to_same_word")] == 2  # of "a"
    assert sums.of("to_same_word")[0, 0] == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    "kind",
    [
        *("previous token", "next token", "itself", "[CLS]", "[SEP]"),
        *("same word elsewhere", "broad"),
    ],
)
def test_a_head_is_named_after_what_it_does_and_only_that(kind):
    (named,) = name_heads(one_kind_of_head(kind))
    assert (named.name, named.layer, named.head) == (kind, 0, 0)
    assert named.score >= named.threshold
    assert named.num_rows >= LEAST_ROWS


def profile_with(score, baseline, num_rows, measure="to_previous"):
    index = MEASURES.index(measure)
    values = np.zeros((len(MEASURES), L, N))
    values[index, 1, 2] = score
    counts = np.zeros(len(MEASURES), int)
    counts[index] = num_rows
    baselines = np.full(len(MEASURES), baseline)
    totals = values * counts[:, None, None], baselines * counts
    return HeadProfile(*totals, counts, num_texts=1)


@pytest.mark.parametrize(
    ("score", "baseline", "num_rows", "is_named"),
    [
        (SHARE_THRESHOLD, 0.1, 5, True),
        (0.49, 0.1, 5, False),
        (0.5, 0.1, 4, False),  # too few rows
        (0.7, 0.36, 5, False),  # less than twice what even attention gives
        (0.7, 0.35, 5, True),
    ],
)
def test_a_name_needs_a_score_above_threshold_and_baseline_and_enough_rows(
    score, baseline, num_rows, is_named
):
    named = name_heads(profile_with(score, baseline, num_rows))
    threshold = max(0.5, 2 * baseline)
    expected = (1, 2, "previous token", score, threshold, baseline, num_rows)
    assert [dataclasses.astuple(head) for head in named] == [expected] * is_named


def divergence(p, q):
    def bits(row):
        return sum(-x * math.log2(x) for x in row if x > 0)

    mean = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return bits(mean) - (bits(p) + bits(q)) / 2


def test_the_distance_of_two_heads_is_the_root_of_the_mean_divergence_of_rows():
    first, second = random_attention(1), random_attention(2, tokens=5)
    # Two heads without a key in common are at distance 1.
    first[0, :2], second[0, :2] = 0, 0
    first[0, 0, :, 0] = first[0, 1, :, 1] = second[0, 0, :, 3] = second[0, 1, :, 2] = 1
    distances = (divergence_sums(first) + divergence_sums(second)).distances()
    assert distances[0, 0, 0, 1] == pytest.approx(1)
    for a, b in itertools.product(np.ndindex(L, N), repeat=2):
        rows = [divergence(first[a][q], first[b][q]) for q in range(T)]
        rows += [divergence(second[a][q], second[b][q]) for q in range(5)]
        expected = math.sqrt(max(sum(rows) / len(rows), 0)) if a != b else 0
        assert distances[a + b] == pytest.approx(expected, abs=1e-7)


def test_of_a_long_text_evenly_spaced_rows_are_compared():
    attention = random_attention()
    some = divergence_sums(attention, most_rows=3)
    assert some.num_rows == 3
    rows = [divergence(attention[0, 0, q], attention[1, 2, q]) for q in (0, 3, 6)]
    assert some.totals[0, 0, 1, 2] == pytest.approx(sum(rows))


def test_the_nearest_heads_come_first_and_without_the_head_itself():
    distances = divergence_sums(random_attention()).distances()
    near = nearest_heads(distances, 1, 0, 3)
    others = sorted(
        (distances[1, 0, layer, head], layer, head)
        for layer, head in np.ndindex(L, N)
        if (layer, head) != (1, 0)
    )
    assert [(one.distance, one.layer, one.head) for one in near] == others[:3]
    assert len(nearest_heads(distances, 1, 0, 99)) == L * N - 1
    only = distances[:1, :1, :1, :1]
    assert nearest_heads(only, 0, 0) == ()
    assert order_by_likeness(only).tolist() == [0]


def test_an_order_takes_average_distances_of_groups():
    """Against the same by hand, with means over all pairs of two groups."""
    distances = divergence_sums(random_attention()).distances()
    flat = distances.reshape(L * N, L * N)
    groups = [{head} for head in range(L * N)]
    order = order_by_likeness(distances).tolist()
    assert sorted(order) == list(range(L * N))

    def mean_distance(pair):
        return np.mean([flat[a, b] for a in pair[0] for b in pair[1]])

    while len(groups) > 1:
        one, other = min(itertools.combinations(groups, 2), key=mean_distance)
        groups = [g for g in groups if g not in (one, other)] + [one | other]
        places = sorted(order.index(head) for head in one | other)
        assert places == list(range(places[0], places[0] + len(places)))
    # Where groups meet, their near ends do: points on a line keep their order.
    points = np.array([[0.0, 90.0, 3.0], [51.0, 1.0, 50.0]])
    order = order_by_likeness(np.abs(np.subtract.outer(points, points)))
    along = points.ravel()[order].tolist()
    assert along in (sorted(along), sorted(along)[::-1])


@pytest.mark.parametrize(
    ("to_previous", "expected"),
    [(0.7, (1, "previous token", 0.7)), (0.55, (2, "next token", 0.6))],
)
def test_the_telling_head_gives_most_to_what_ties_words(to_previous, expected):
    tokens, ends = 7, np.array([1, 0, 0, 0, 0, 0, 1], bool)
    heads = np.zeros((3, tokens, tokens))
    heads[0, :, -1] = 1  # all to [SEP], which tells nothing
    heads[1] = to_previous * np.eye(tokens, k=-1)
    heads[2] = 0.6 * np.eye(tokens, k=1)
    rest = 1 - heads.sum(axis=-1)  # to the token itself
    heads[:, range(tokens), range(tokens)] += rest
    ids, segments = np.arange(tokens), np.zeros(tokens, int)
    sums = head_profile(heads[None], ids, segments, ends, ~ends)
    head, name, score = expected
    found = telling_head(name_heads(sums))
    assert (found.layer, found.head, found.name) == (0, head, name)
    assert found.score == pytest.approx(score)
    of_sep = [one for one in name_heads(sums) if one.head == 0]
    assert (len(of_sep), telling_head(of_sep)) == (1, None)


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
    conllu = bundled_text("grammar", language)
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
    ("conllu", "said"),
    [
        ("", "0"),
        ("# only a comment\n", "0"),
        ("a b c\n", "Invalid line format"),
        ("1\tx\n", "2 columns for word 1"),
        (CONLLU.replace("\t3\taux", "\t9\taux"), "word 1 without its head 9"),
        (CONLLU.replace("\t3\taux", "\tx\taux"), "Failed parsing field 'head'"),
        ("\n".join([CONLLU] * (MAX_SENTENCES + 1)), "301"),
    ],
)
def test_what_is_no_treebank_ends_in_a_sentence(conllu, said):
    with pytest.raises(TextError, match=f"Received: {said}"):
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
    count = LEAST_CASES - 1
    tokens = np.eye(2, dtype=bool)
    found = head_grammar([one] * count, ((i, attention, tokens) for i in range(count)))
    assert found.counts.tolist() == [count, count]
    assert found.best_part(0, 0) is None
    assert found.best_relation(0, 0) is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_words_are_found_among_the_tokens_of_the_bundled_model(language):
    explorer = open_bundled(f"bert-mini-{language}")
    for one in read_treebank(bundled_text("grammar", language)):
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
    assert found.counts[objects] >= LEAST_CASES
    assert found.accuracies[objects].max() > 2 * found.baselines[objects]
    np.testing.assert_allclose(found.part_shares.sum(axis=0), 1.0)


TWO_LAYERS = dataclasses.replace(CONFIG, num_hidden_layers=2)
SIX_TEXTS = (
    Sentence("the cat sat on a mat."),
    Sentence("the cat", "sat on the mats"),
    Sentence("a mat"),
    Sentence("on a mat the cat sat"),
    Sentence("the mat", "a cat"),
    Sentence("cat!"),
)


def one_by_one(explorer, sentences):
    sums, divergences = None, None
    for sentence in sentences:
        trace = explorer.trace(sentence.text, sentence.pair, cut=True)
        text = trace.tokenized
        edges = explorer.forward.visible(text.num_tokens)
        one = head_profile(
            trace.attention_probs,
            text.input_ids,
            text.token_type_ids,
            text.is_special,
            text.is_word,
            edges,
        )
        two = divergence_sums(trace.attention_probs)
        sums = one if sums is None else sums + one
        divergences = two if divergences is None else divergences + two
    return sums, divergences.distances()


@pytest.mark.parametrize(
    "changes", [{"pre_norm": True}, {"sparse_window": 1}], ids=["pre-norm", "sparse"]
)
def test_texts_read_together_give_what_each_gives_alone(changes, monkeypatch):
    monkeypatch.setattr(corpus_profiles, "_TOKENS_A_PASS", 16)
    explorer = explorer_of(random_model(dataclasses.replace(TWO_LAYERS, **changes))[0])
    result = corpus_profile(explorer, sentences=SIX_TEXTS)
    profile, distances = one_by_one(explorer, SIX_TEXTS)
    agree(result.profile.values, profile.values)
    agree(result.profile.baselines, profile.baselines, 1e-12)
    np.testing.assert_array_equal(result.profile.num_rows, profile.num_rows)
    assert result.profile.num_texts == len(SIX_TEXTS)
    agree(result.distances, distances, 1e-4)


def test_the_bundled_sentences_are_all_measured(explorer):
    told = []
    result = corpus_profile(explorer, "zh", progress=lambda *one: told.append(one))
    assert result.profile.num_texts == len(told) >= 110
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[0][0] == 0
    assert told[-1][0] < 1
    shape = (CONFIG.num_hidden_layers, CONFIG.num_attention_heads)
    assert result.profile.values.shape == (len(MEASURES), *shape)
    assert result.distances.shape == shape * 2


def test_a_model_of_one_segment_reads_a_pair_as_two_texts():
    one_segment = dataclasses.replace(TWO_LAYERS, type_vocab_size=1)
    explorer = explorer_of(random_model(one_segment)[0])
    result = corpus_profile(explorer, sentences=SIX_TEXTS)
    assert result.profile.num_texts == len(SIX_TEXTS) + 2
    assert result.profile.num_rows[MEASURES.index("to_other_segment")] == 0
