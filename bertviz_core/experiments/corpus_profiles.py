"""Every head of a model, measured over the bundled sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add

import numpy as np

from bertviz_core.analysis.head_distances import DivergenceSums, divergence_sums
from bertviz_core.analysis.head_profiles import ProfileSums, profile_sums
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import Sentence, bundled_sentences
from bertviz_core.tasks import Progress, task
from bertviz_core.trace import TokenizedText

# Tokens of one pass. Attention of 1024 tokens in texts of 64 is 38 MB for BERT-base.
_TOKENS_A_PASS = 1024


@task()
def corpus_profile(
    explorer: Explorer,
    language: str = "en",
    sentences: Sequence[Sentence] | None = None,
    progress: Progress | None = None,
) -> CorpusProfile:
    """Measures heads on many texts; each row of each text counts alike.

    Texts of one length go through the network together, so that none is padded: a
    text gives the numbers that it gives alone. A text beyond the last position is
    cut there. A model that knows one segment reads a pair as two texts.

    Args:
        explorer: of the model.
        language: of the bundled sentences.
        sentences: others in their place.
        progress: told the fraction done; may raise to cancel.

    Raises:
        TextError: there is no sentence.
        ValueError: see `bundled_sentences`.
    """
    if sentences is None:
        sentences = bundled_sentences(language)
    texts = _tokenized(explorer, sentences)
    if not texts:
        raise TextError("The text is empty. Type a sentence.")
    sums: list[tuple[ProfileSums, DivergenceSums]] = []
    for text, attention in _attention_of(explorer, texts):
        if progress is not None:
            progress(len(sums) / len(texts), "measuring heads")
        edges = explorer.forward.visible(text.num_tokens)
        profile = profile_sums(
            attention,
            text.input_ids,
            text.token_type_ids,
            text.is_special,
            text.is_word,
            edges,
        )
        sums.append((profile, divergence_sums(attention)))
    profiles, divergences = zip(*sums, strict=True)
    return CorpusProfile(
        profile=reduce(add, profiles).profile(),
        distances=reduce(add, divergences).distances(),
    )


def _tokenized(
    explorer: Explorer, sentences: Sequence[Sentence]
) -> list[TokenizedText]:
    texts: list[tuple[str, str | None]] = []
    for sentence in sentences:
        if sentence.pair is not None and explorer.config.type_vocab_size < 2:
            texts += [(sentence.text, None), (sentence.pair, None)]
        else:
            texts.append((sentence.text, sentence.pair))
    return [explorer.tokenize(text, pair, cut=True) for text, pair in texts]


def _attention_of(
    explorer: Explorer, texts: Sequence[TokenizedText]
) -> Iterator[tuple[TokenizedText, np.ndarray]]:
    """Each text with its attention `[L, N, T, T]`, by length."""
    by_length: dict[int, list[TokenizedText]] = defaultdict(list)
    for text in texts:
        by_length[text.num_tokens].append(text)
    for num_tokens, alike in sorted(by_length.items()):
        num_texts = max(1, _TOKENS_A_PASS // num_tokens)
        for start in range(0, len(alike), num_texts):
            together = alike[start : start + num_texts]
            inputs = {
                "input_ids": np.stack([text.input_ids for text in together]),
                "token_type_ids": np.stack([text.token_type_ids for text in together]),
            }
            output = explorer.forward(inputs, ("attention_probs",))
            yield from zip(together, output["attention_probs"], strict=True)
