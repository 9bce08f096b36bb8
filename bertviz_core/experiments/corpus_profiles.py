"""Every head of a model, measured over the bundled sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from bertviz_core.analysis.head_distances import DivergenceSums, divergence_sums
from bertviz_core.analysis.head_profiles import ProfileSums
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_matrix import profile_of
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.experiments.masked_rows import equally_long
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
    for together, inputs in equally_long(texts, _TOKENS_A_PASS):
        found = explorer.forward(inputs, ("attention_probs",))["attention_probs"]
        for index, attention in zip(together, found, strict=True):
            if progress is not None:
                progress(len(sums) / len(texts), "measuring heads")
            profile = profile_of(explorer, texts[index], attention)
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
