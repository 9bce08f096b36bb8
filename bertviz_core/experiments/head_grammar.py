"""What every head of a model looks at, over sentences whose grammar is known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bertviz_core.analysis.head_grammar import HeadGrammar, head_grammar
from bertviz_core.analysis.treebank import read_treebank, word_tokens
from bertviz_core.explorer import Explorer
from bertviz_core.sentences import bundled_text
from bertviz_core.tasks import Progress, task, untold


@task()
def grammar_of_heads(
    explorer: Explorer,
    language: str = "en",
    conllu: str | None = None,
    progress: Progress = untold,
) -> HeadGrammar:
    """Measures parts of speech and dependencies over a treebank.

    Args:
        explorer: of the model.
        language: of the bundled sentences.
        conllu: others in their place, see `read_treebank`.
        progress: told the fraction done; may raise to cancel.

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
