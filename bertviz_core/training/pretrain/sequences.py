"""From documents to sequences: one segment, or two for next-sentence prediction.

Everything here is about places in the flat array of token ids; no token is read
and nothing loops over sentences, so that millions of them take seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bertviz_core.training.pretrain.corpus import EncodedCorpus
from bertviz_core.training.pretrain.settings import SequenceSettings


def pack_rows(
    lengths: np.ndarray, max_tokens: int, max_sequences: int, rng: np.random.Generator
) -> np.ndarray:
    """Puts every sequence into a row; the longest first, then what still fits.

    Works on how many sequences there are of each length, so that it takes a few hundred
    steps for any number of them. Chance decides which of equally long ones meet, and
    the order of rows. Indices into `lengths` int64 `[R, max_sequences]`; -1 where none.

    Source: Krell et al. 2021 (arXiv:2107.02027), "shortest-pack-first histogram
    packing", with the longest sequence that fits instead.
    """
    shuffled = rng.permutation(len(lengths))
    by_length = shuffled[np.argsort(lengths[shuffled], kind="stable")]
    counts = np.bincount(lengths, minlength=max_tokens + 1)
    next_of = np.append(0, np.cumsum(counts))[:-1]  # place in `by_length`
    blocks = [np.zeros((0, max_sequences), "int64")]
    while counts.any():
        recipe = _recipe(counts, max_tokens, max_sequences)
        used = np.bincount(recipe, minlength=max_tokens + 1)
        times = int((counts[recipe] // used[recipe]).min())
        block = np.full((times, max_sequences), -1, "int64")
        for column, length in enumerate(recipe):
            first = next_of[length]
            block[:, column] = by_length[first : first + times]
            next_of[length] += times
        counts = counts - times * used
        blocks.append(block)
    rows = np.concatenate(blocks)
    return rows[rng.permutation(len(rows))]


def _recipe(counts: np.ndarray, max_tokens: int, max_sequences: int) -> list[int]:
    """Lengths that fill one row, from what is left."""
    left, room = counts.copy(), max_tokens
    recipe: list[int] = []
    while len(recipe) < max_sequences:
        fitting = np.flatnonzero(left[: room + 1])
        if not len(fitting):
            break
        longest = int(fitting[-1])
        recipe.append(longest)
        left[longest] -= 1
        room -= longest
    return recipe


IS_NEXT, IS_RANDOM = 0, 1  # google-research/bert, `create_pretraining_data.py`
SHORTEST_SEQUENCE = 2  # tokens; of less there is nothing to learn


@dataclass(frozen=True)
class Sequences:
    """S sequences `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`, by place."""

    a_starts: np.ndarray  # int64 [S], first token of A in the corpus
    a_lengths: np.ndarray  # int64 [S], tokens in A
    b_starts: np.ndarray  # int64 [S], first token of B
    b_lengths: np.ndarray  # int64 [S], tokens in B; 0 where there is no B
    nsp_labels: np.ndarray  # int64 [S], `IS_NEXT` or `IS_RANDOM`
    nsp_weights: np.ndarray  # float32 [S]; 0 where the question cannot be asked

    @property
    def lengths(self) -> np.ndarray:
        """Int64 `[S]`, tokens with `[CLS]` and every `[SEP]`."""
        return self.a_lengths + self.b_lengths + 2 + (self.b_lengths > 0)


def draw_sequences(
    corpus: EncodedCorpus,
    times: np.ndarray,
    max_tokens: int,
    settings: SequenceSettings,
    rng: np.random.Generator,
    sentence_times: np.ndarray | None = None,
    pair_rates: Mapping[str, float] | None = None,
) -> Sequences:
    """Cuts the text of an epoch into sequences, afresh at each call.

    A sequence begins where a sentence begins and is as long as `max_tokens` allows;
    what is cut off its last sentence is read again in the next one. They are in the
    order of the text; sentences read alone come last.

    Args:
        times: int `[num_documents]`, how often to read each document.
        settings: shares of pairs, short sequences and joined documents.
        sentence_times: int `[num_sentences]`, how often to read each sentence alone,
            beside its document; `None` for never.
        pair_rates: by file name, in place of that of `settings`.
    """
    begins, ends = _units(corpus, times, settings.join_rate, rng)
    if sentence_times is not None:
        alone = np.repeat(np.arange(len(sentence_times)), sentence_times)
        begins = np.append(begins, corpus.sentence_starts[alone])
        ends = np.append(ends, corpus.sentence_starts[alone + 1])
    by_file = pair_rates or {}
    of_files = [by_file.get(name, settings.pair_rate) for name in corpus.file_names]
    files = corpus.document_files[_document_of(corpus, begins)]
    rates = np.array(of_files or [settings.pair_rate])[files]
    starts, lengths, is_pair = _cut(
        corpus.sentence_starts, begins, ends, rates, max_tokens, settings, rng
    )
    first = np.searchsorted(corpus.sentence_starts, starts, "right")
    last = np.searchsorted(corpus.sentence_starts, starts + lengths, "left")
    num_borders = last - first  # sentence borders inside the sequence
    is_pair &= num_borders > 0
    border = first + (rng.random(len(starts)) * num_borders).astype("int64")
    border = corpus.sentence_starts[np.where(is_pair, border, 0)]
    pairs = Sequences(
        a_starts=starts,
        a_lengths=np.where(is_pair, border - starts, lengths),
        b_starts=np.where(is_pair, border, 0),
        b_lengths=np.where(is_pair, starts + lengths - border, 0),
        nsp_labels=np.zeros(len(starts), "int64"),
        nsp_weights=is_pair.astype("float32"),
    )
    return _with_random_next(corpus, pairs, settings.random_next_rate, rng)


def _units(
    corpus: EncodedCorpus, times: np.ndarray, join_rate: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """First and past-the-last token of each stretch of text to cut up."""
    token_starts = corpus.sentence_starts[corpus.document_starts]
    found = [np.zeros((2, 0), "int64")]
    for reading in range(int(times.max(initial=0))):
        documents = np.flatnonzero(times > reading)
        joins = rng.random(len(documents)) < join_rate
        joins &= np.diff(documents, prepend=-2) == 1
        files = corpus.document_files[documents]
        same_file = np.append(False, files[1:] == files[:-1])[: len(files)]
        is_first = ~(joins & same_file)
        is_last = np.append(is_first[1:], True)
        first, last = documents[is_first], documents[is_last] + 1
        found.append(np.stack([token_starts[first], token_starts[last]]))
    begins, ends = np.concatenate(found, axis=1)
    return begins, ends


def _cut(
    sentence_starts: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    pair_rates: np.ndarray,
    max_tokens: int,
    settings: SequenceSettings,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts and lengths without special tokens, and which are to be pairs.

    Takes the next sequence off every stretch at once, until none is left.
    """
    places, order = begins, np.arange(len(begins))
    found = [np.zeros((4, 0), "int64")]
    while len(places):
        is_pair = rng.random(len(places)) < pair_rates[order]
        room = max_tokens - 2 - is_pair
        kind = rng.random(len(places)) - settings.sentence_rate
        is_sentence, is_short = kind < 0, kind < settings.short_rate
        # A short one ends with a sentence, as what people type does.
        wished = places + np.where(is_sentence, 1, rng.integers(1, room + 1))
        wished = np.minimum(wished, ends)
        border = sentence_starts[np.searchsorted(sentence_starts, wished)]
        stops = np.minimum(np.where(is_short, border, ends), ends)
        stops = np.minimum(stops, places + room)
        found.append(np.stack([places, stops - places, is_pair, order]))
        cut_sentence = sentence_starts[
            np.searchsorted(sentence_starts, stops, "right") - 1
        ]
        again = (stops < ends) & (cut_sentence > places)
        places = np.where(again, cut_sentence, stops)
        going_on = places < ends
        places, ends, order = places[going_on], ends[going_on], order[going_on]
    starts, lengths, wishes, owners = np.concatenate(found, axis=1)
    kept = np.flatnonzero(lengths >= SHORTEST_SEQUENCE)
    kept = kept[np.argsort(owners[kept], kind="stable")]
    return starts[kept], lengths[kept], wishes[kept].astype(bool)


def _with_random_next(
    corpus: EncodedCorpus, pairs: Sequences, rate: float, rng: np.random.Generator
) -> Sequences:
    """Passes the B of some pairs on from one to the next.

    So a B after another document is no other kind of text than one after its own.
    They are passed on in the order of their length, from the longer to the shorter,
    so that hardly any has to be cut, and within a file, but for the last one of each.
    Those that the row's end has cut off in a sentence are passed on among themselves
    and fill the row again: the kind of text, its length and how it ends shall not give
    the answer away.
    """
    b_starts, b_lengths = pairs.b_starts.copy(), pairs.b_lengths.copy()
    labels = np.where(_crosses_documents(corpus, pairs), IS_RANDOM, IS_NEXT)
    weights = pairs.nsp_weights.copy()
    is_cut = _ends_in_a_sentence(corpus, b_starts, b_lengths)
    chosen = np.flatnonzero((b_lengths > 0) & (rng.random(len(b_lengths)) < rate))
    files = corpus.document_files[_document_of(corpus, b_starts[chosen])]
    ties = rng.random(len(chosen))
    order = chosen[np.lexsort((ties, -b_lengths[chosen], is_cut[chosen], files))]
    givers = np.roll(order, -1)
    b_starts[order] = pairs.b_starts[givers]
    document_ends = corpus.sentence_starts[corpus.document_starts[1:]]
    left = document_ends[_document_of(corpus, b_starts[order])] - b_starts[order]
    given = np.where(is_cut[givers], left, b_lengths[givers])
    b_lengths[order] = np.minimum(b_lengths[order], given)
    labels[order] = IS_RANDOM
    mixed = Sequences(
        pairs.a_starts, pairs.a_lengths, b_starts, b_lengths, labels, weights
    )
    # By chance it may be the same document: then nobody can know. Or a B ends in
    # another way than the one that was there: then the end would tell.
    is_told = _ends_in_a_sentence(corpus, b_starts, b_lengths) != is_cut
    weights[order[(is_told | ~_crosses_documents(corpus, mixed))[order]]] = 0.0
    return mixed


def _ends_in_a_sentence(
    corpus: EncodedCorpus, starts: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Bool `[S]`: the last token is not the last of a sentence."""
    ends = starts + lengths
    borders = corpus.sentence_starts
    return borders[np.searchsorted(borders, ends)] != ends


def _crosses_documents(corpus: EncodedCorpus, pairs: Sequences) -> np.ndarray:
    """Bool `[S]`: B begins in another document than A ends in."""
    a_ends = pairs.a_starts + pairs.a_lengths - 1
    return _document_of(corpus, a_ends) != _document_of(corpus, pairs.b_starts)


def _document_of(corpus: EncodedCorpus, places: np.ndarray) -> np.ndarray:
    token_starts = corpus.sentence_starts[corpus.document_starts]
    return np.searchsorted(token_starts, places, "right") - 1
