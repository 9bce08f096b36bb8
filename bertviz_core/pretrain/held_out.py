"""How a model in training does on the text that is kept from it."""

from __future__ import annotations

import numpy as np

from bertviz_core.model.bert import Bert
from bertviz_core.model.compiled import CompiledForward
from bertviz_core.pretrain.corpus import EncodedCorpus
from bertviz_core.pretrain.evaluate import (
    MlmScores,
    NspScores,
    evaluate_mlm,
    evaluate_nsp,
    make_windows,
)
from bertviz_core.pretrain.masking import TokenKinds

# A look now and then; `evaluate-mlm` reads all of a file.
_NUM_WINDOWS, _WINDOW_TOKENS, _NUM_PAIRS = 256, 128, 256


class HeldOut:
    """Some of the held-out text, always the same.

    Args:
        bert: the model, read at each call.
        corpus: with held-out documents.
        kinds: of the vocabulary.
    """

    def __init__(self, bert: Bert, corpus: EncodedCorpus, kinds: TokenKinds) -> None:
        self.corpus, self.kinds = corpus, kinds
        self.forward = CompiledForward(bert)
        self.documents = np.flatnonzero(corpus.is_held_out)
        self.length = min(_WINDOW_TOKENS, bert.config.max_position_embeddings)
        windows = make_windows(corpus, self.documents, self.length, kinds)
        chosen = np.random.default_rng(0).permutation(len(windows))[:_NUM_WINDOWS]
        self.windows = windows[np.sort(chosen)]

    def scores(self) -> tuple[MlmScores, NspScores | None]:
        """Scores of both tasks, with the weights of this moment."""
        mlm = evaluate_mlm(self.forward, self.windows, self.kinds)
        nsp = evaluate_nsp(
            self.forward,
            self.corpus,
            self.documents,
            self.length,
            self.kinds,
            _NUM_PAIRS,
        )
        return mlm, nsp
