"""Vectors of many sentences, and of one word in many, at every layer."""

import re
from collections.abc import Sequence

import numpy as np

from bertviz_core.analysis.geometry import cosine_matrix
from bertviz_core.analysis.labelled_lines import split_pair
from bertviz_core.analysis.nearest_words import Neighbours, WordTable
from bertviz_core.analysis.separation import group_separation
from bertviz_core.errors import TextError
from bertviz_core.experiments.embedding_results import SentenceStates, WordSenses
from bertviz_core.experiments.map_results import MAX_SENTENCES
from bertviz_core.experiments.masked_rows import equally_long
from bertviz_core.experiments.sentence_maps import map_by_pca
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

READINGS = ("token", "cls", "mean")
# Numbers of all layers' vectors together: 256 MB in float32. BERT-base has room for
# some 6,700 tokens, 200 sentences of 33.
MAX_VALUES = 2**26
# Tokens of one pass: hidden states of 2048 are 82 MB for BERT-base.
_TOKENS_A_PASS = 2048


def sentence_states(
    explorer: Explorer,
    sentences: Sequence[str],
    reading: str = "mean",
    progress: Progress = untold,
) -> SentenceStates:
    """Reads vectors of sentences from every layer; none is left out.

    Sentences of one length go through the network together, so that none is padded: a
    sentence gives the numbers that it gives alone. For a pair see `split_pair`; what is
    beyond the last position is left out.

    Raises:
        TextError: none, or more than `MAX_SENTENCES`; too many tokens to keep all of
            them, or see `Explorer.tokenize`.
    """
    if reading not in READINGS:
        raise ValueError(f"`reading` must be among {READINGS}. Received: {reading}.")
    texts = _tokenized(explorer, sentences)
    chosen = [_groups(text, reading) for text in texts]
    counts = [len(points) for points in chosen]
    _require_room(explorer, sum(counts))
    positions = [-1 if reading == "mean" else p[0] for row in chosen for p in row]
    index = np.repeat(np.arange(len(texts)), counts)
    labels = (
        [texts[i].tokens[t] for i, t in zip(index.tolist(), positions, strict=True)]
        if reading == "token"
        else list(sentences)
    )
    return SentenceStates(
        reading=reading,
        texts=tuple(texts),
        sentence_index=index,
        position=np.array(positions, np.int64),
        labels=tuple(labels),
        states=_means(explorer, texts, chosen, progress),
    )


def states_of(
    explorer: Explorer,
    texts: Sequence[TokenizedText],
    reading: str,
    progress: Progress = untold,
) -> np.ndarray:
    """The "cls" or "mean" vector of each text, see `sentence_states`: `[L + 1, M, H]`.

    The mean of an empty text is its [CLS].
    """
    chosen = [_groups(text, reading) for text in texts]
    return _means(explorer, texts, chosen, progress)


@task()
def vectors_at(states: SentenceStates, layer: int) -> np.ndarray:
    """The vectors of sentences at one layer, float32 `[M, H]`; 0 is the input's."""
    return states.states[layer]


@task()
def nearest_points(
    states: SentenceStates, layer: int, point: int, num_neighbours: int = 10
) -> Neighbours:
    """Finds the points nearest to one of them by cosine, in the full space.

    Layer 0 is the embedding output. A point is not its own neighbour.
    """
    vectors = states.states[layer]
    others = np.arange(len(vectors)) != point
    return WordTable(vectors).nearest(vectors[point], num_neighbours, allowed=others)


@task()
def word_senses(
    explorer: Explorer,
    sentences: Sequence[str],
    word: str,
    senses: Sequence[str],
    progress: Progress = untold,
) -> WordSenses:
    """Follows one word through the layers in sentences that mean it differently.

    Every place where the word, or several, stands whole is an occurrence: not "bank" in
    "banks". Capitals count only in a model that knows them. Its vector is the mean over
    its tokens. Each sentence has the name of its sense, or "", which is then not
    scored.

    Raises:
        TextError: a sentence without the word, no word, or see
            `sentence_states`.

    Source: Ethayarajh 2019 (arXiv:1909.00512), section 3.3; Coenen et al. 2019
    (arXiv:1906.02715), section 4, for senses.
    """
    if len(senses) != len(sentences):
        raise ValueError(
            f"`senses` must name each of {len(sentences)} sentences. "
            f"Received: {len(senses)}."
        )
    texts = _tokenized(explorer, sentences)
    spans = _spans_in_each(texts, word, explorer.tokenizer.lower_case)
    index = np.repeat(np.arange(len(texts)), [len(found) for found in spans])
    _require_room(explorer, len(index))
    chosen = [[list(range(*span)) for span in found] for found in spans]
    states = _means(explorer, texts, chosen, progress)
    groups = [senses[i] for i in index.tolist()]
    places = np.array([span for found in spans for span in found], np.int64)
    labels = tuple(sentences[i] for i in index.tolist())
    points = SentenceStates("word", tuple(texts), index, places[:, 0], labels, states)
    return WordSenses(
        word=word,
        num_cut=points.num_cut,
        sentence_index=index,
        spans=places,
        senses=tuple(groups),
        states=states,
        cosines=np.stack([cosine_matrix(layer) for layer in states]),
        separations=tuple(group_separation(layer, groups) for layer in states),
        map=map_by_pca(points, 2, "procrustes") if len(index) > 2 else None,
    )


def find_word(text: TokenizedText, word: str, lower_case: bool) -> list[list[int]]:
    """Token spans `[first, past the last]` where a word stands whole, in a pair too."""
    bodies = [text.text] if text.pair is None else [text.text, text.pair]
    return [
        span
        for segment, body in enumerate(bodies)
        for span in _find_in(text, segment, body, word.strip(), lower_case)
    ]


def _find_in(
    text: TokenizedText, segment: int, body: str, word: str, lower_case: bool
) -> list[list[int]]:
    flags = re.IGNORECASE if lower_case else 0
    own = np.flatnonzero((text.word_ids >= 0) & (text.token_type_ids == segment))
    starts = {int(text.offsets[t, 0]): int(t) for t in reversed(own)}
    ends = {int(text.offsets[t, 1]): int(t) for t in own}
    spans = []
    for match in re.finditer(re.escape(word), body, flags):
        first, last = starts.get(match.start()), ends.get(match.end())
        if first is None or last is None:
            continue  # within a piece, or cut off
        begins = text.word_ids[first - 1] != text.word_ids[first]
        stops = text.word_ids[last + 1] != text.word_ids[last]
        if first <= last and begins and stops:
            spans.append([first, last + 1])
    return spans


def _groups(text: TokenizedText, reading: str) -> list[list[int]]:
    """The tokens that each point of a text is the mean of."""
    own: list[int] = np.flatnonzero(~text.is_added).tolist()
    return {"token": [[t] for t in own], "mean": [own or [0]], "cls": [[0]]}[reading]


def _spans_in_each(
    texts: Sequence[TokenizedText], word: str, lower_case: bool
) -> list[list[list[int]]]:
    if not word.strip():
        raise TextError("There is no word to follow. Type a word of the sentences.")
    spans = [find_word(text, word, lower_case) for text in texts]
    for number, (text, found) in enumerate(zip(texts, spans, strict=True), start=1):
        if not found and text.was_cut:
            raise TextError(
                "Sentence {number} is longer than the model can read, and the part it "
                "reads does not contain the whole word. Received: “{word}”, in {count} "
                "tokens; the limit is {limit}. Shorten the sentence.",
                number=number,
                word=word,
                count=text.num_tokens_uncut,
                limit=text.num_tokens,
            )
        if not found:
            raise TextError(
                "Sentence {number} does not contain the whole word. Received: "
                "“{word}”. Add the word to the sentence, or remove the sentence.",
                number=number,
                word=word,
            )
    return spans


def _tokenized(explorer: Explorer, sentences: Sequence[str]) -> list[TokenizedText]:
    if not sentences:
        raise TextError("The text is empty. Type a sentence.")
    if len(sentences) > MAX_SENTENCES:
        raise TextError(
            "There are too many sentences for one map. Received: {num_sentences}; the "
            "limit is {limit}. Remove some.",
            num_sentences=len(sentences),
            limit=MAX_SENTENCES,
        )
    return [
        explorer.tokenize(*split_pair(sentence), cut=True) for sentence in sentences
    ]


def _require_room(explorer: Explorer, num_points: int) -> None:
    config = explorer.config
    limit = MAX_VALUES // ((config.num_hidden_layers + 1) * config.hidden_size)
    if num_points > limit:
        raise TextError(
            "The sentences have too many tokens to keep every one. Received: "
            "{num_points} tokens; the limit is {limit}. Use fewer or shorter "
            "sentences, or show one point per sentence.",
            num_points=num_points,
            limit=limit,
        )


def _means(
    explorer: Explorer,
    texts: Sequence[TokenizedText],
    chosen: Sequence[Sequence[Sequence[int]]],
    progress: Progress,
) -> np.ndarray:
    """The mean over each chosen group of tokens, float32 `[L + 1, M, H]`.

    `chosen` has the groups of each text; points come in their order.
    """
    config = explorer.config
    ends = np.cumsum([len(groups) for groups in chosen])
    result = np.empty(
        (config.num_hidden_layers + 1, int(ends[-1]), config.hidden_size), np.float32
    )
    done = 0
    for together, inputs in equally_long(texts, _TOKENS_A_PASS):
        states = explorer.forward(inputs, ("hidden_states",))["hidden_states"]
        for row, i in enumerate(together):  # states[row]: [L + 1, T, H]
            first = ends[i] - len(chosen[i])
            for offset, tokens in enumerate(chosen[i]):
                result[:, first + offset] = states[row][:, tokens].mean(axis=1)
        done += len(together)
        progress(done / len(texts), "reading sentences")
    return result
