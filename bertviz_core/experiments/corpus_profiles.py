"""Every head of a model over the bundled sentences, and over those with grammar."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add

import numpy as np

from bertviz_core.analysis.head_distances import DivergenceSums, divergence_sums
from bertviz_core.analysis.head_grammar import HeadGrammar, head_grammar
from bertviz_core.analysis.head_profiles import HeadProfile
from bertviz_core.analysis.treebank import read_treebank, word_tokens
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_matrix import profile_of
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.experiments.masked_rows import equally_long
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import Sentence, bundled_sentences, bundled_text
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

# Tokens of one pass. Attention of 1024 tokens in texts of 64 is 38 MB for BERT-base.
_TOKENS_A_PASS = 1024


@task()
def corpus_profile(
    explorer: Explorer,
    language: str = "en",
    sentences: Sequence[Sentence] | None = None,
    progress: Progress = untold,
) -> CorpusProfile:
    """Measures heads on the bundled sentences, or others; each row counts alike.

    Texts of one length go through the network together, so that none is padded: a
    text gives the numbers that it gives alone. A text beyond the last position is
    cut there. A model that knows one segment reads a pair as two texts.

    Raises:
        TextError: there is no sentence.
    """
    if sentences is None:
        sentences = bundled_sentences(language)
    texts = _tokenized(explorer, sentences)
    if not texts:
        raise TextError("The text is empty. Type a sentence.")
    sums: list[tuple[HeadProfile, DivergenceSums]] = []
    for together, inputs in equally_long(texts, _TOKENS_A_PASS):
        found = explorer.forward(inputs, ("attention_probs",))["attention_probs"]
        for index, attention in zip(together, found, strict=True):
            progress(len(sums) / len(texts), "measuring heads")
            profile = profile_of(explorer, texts[index], attention)
            sums.append((profile, divergence_sums(attention)))
    profiles, divergences = zip(*sums, strict=True)
    return CorpusProfile(reduce(add, profiles), reduce(add, divergences).distances())


@task()
def grammar_of_heads(
    explorer: Explorer,
    language: str = "en",
    conllu: str | None = None,
    progress: Progress = untold,
) -> HeadGrammar:
    """Measures parts of speech and dependencies over a treebank, bundled or given.

    Raises:
        TextError: see `read_treebank`.
    """
    sentences = read_treebank(
        bundled_text("grammar", language) if conllu is None else conllu
    )

    def attention() -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        for index, sentence in enumerate(sentences):
            progress(index / len(sentences), "measuring heads")
            text = explorer.tokenize(sentence.text, cut=True)
            output = explorer.forward(text.inputs, ("attention_probs",))
            yield index, output["attention_probs"][0], word_tokens(sentence, text)

    return head_grammar(sentences, attention())


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
