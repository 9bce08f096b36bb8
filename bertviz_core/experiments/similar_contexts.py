"""Where else the network sees a token as it does here, in many sentences."""

from bertviz_core.analysis.nearest_words import WordTable, best_of
from bertviz_core.experiments.embedding_results import (
    Context,
    SentenceStates,
    SimilarContexts,
)
from bertviz_core.sentences import bundled_sentences
from bertviz_core.tasks import task


def searched_sentences(language: str) -> tuple[str, ...]:
    """The bundled sentences of a language, both texts of a pair each on its own."""
    pairs = [(one.text, one.pair) for one in bundled_sentences(language)]
    return tuple(text for texts in pairs for text in texts if text is not None)


@task()
def similar_contexts(
    own: SentenceStates,
    searched: SentenceStates,
    layer: int,
    point: int,
    num_contexts: int = 20,
) -> SimilarContexts:
    """Finds the tokens whose vectors point most nearly the same way, by cosine.

    Both states are read token by token; the one to compare with is a point of `own`.
    Layer 0 is the embedding output.

    Source: Hoover, Strobelt and Gehrmann 2020, "exBERT" (arXiv:1910.05276), section 3:
    its search of a corpus by a token's vector.
    """
    if (own.reading, searched.reading) != ("token", "token"):
        raise ValueError(
            'The states must be of "token". '
            f"Received: {own.reading}, {searched.reading}."
        )
    asked, vectors = own.states[layer][point], searched.states[layer]
    cosines = WordTable(vectors).scores(asked)
    near = best_of(cosines, num_contexts)
    found = zip(near.ids.tolist(), near.scores.tolist(), strict=True)
    return SimilarContexts(
        layer=layer,
        contexts=tuple(_context(searched, *one) for one in found),
        mean_cosine=float(cosines.mean()),
        num_tokens=len(vectors),
        num_sentences=len(searched.texts),
    )


def _context(states: SentenceStates, point: int, cosine: float) -> Context:
    text = states.texts[int(states.sentence_index[point])]
    token = int(states.position[point])
    body = text.text if text.token_type_ids[token] == 0 else text.pair or ""
    first, end = text.offsets[token].tolist()
    return Context(body[:first], body[first:end], body[end:], cosine)
