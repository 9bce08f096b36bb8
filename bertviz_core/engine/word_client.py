"""The part of `Client` that asks about masked words beyond the first guess."""

from __future__ import annotations

from typing import cast

from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.chain_results import GibbsSettings, GibbsState
from bertviz_core.experiments.layer_results import GeluSwitch, LogitLens
from bertviz_core.experiments.word_results import (
    JointFilling,
    NextSentence,
    WholeWords,
    WordScore,
)


class WordClient:
    """Methods of `Client`; see there for what all of them raise."""

    _engine: Engine

    def fill_masks(
        self, model: str, text: str, mode: str, top_k: int = 10
    ) -> JointFilling:
        """Fills every mask with its best word, in an order.

        Args:
            model: its id.
            text: with at least one mask.
            mode: "independent", "left_to_right" or "most_confident_first".
            top_k: candidates kept of each step.

        Raises:
            CheckpointError: the model has no masked-word head.
            TextError: no mask, empty or too long.
        """
        answer = self._engine.call(
            "fill_masks", model=model, text=text, mode=mode, top_k=top_k
        )
        return cast(JointFilling, answer)

    def score_words(
        self, model: str, text: str, words: tuple[str, ...], mask_index: int = 0
    ) -> tuple[WordScore, ...]:
        """Scores words that the user names at a mask, in their order.

        Args:
            model: its id.
            text: with at least one mask.
            words: of one piece or several.
            mask_index: which mask, left to right.

        Raises:
            CheckpointError: the model has no masked-word head.
            TextError: a word without pieces, no mask, or a text too long.
        """
        answer = self._engine.call(
            "score_words", model=model, text=text, words=words, mask_index=mask_index
        )
        return cast("tuple[WordScore, ...]", answer)

    def read_layers(
        self, model: str, text: str, word_ids: tuple[int, ...] = (), top_k: int = 5
    ) -> LogitLens:
        """Reads every layer with the masked-word head, at every place.

        Args:
            model: its id.
            text: what the model reads.
            word_ids: words whose probability and rank to follow.
            top_k: best words to keep.

        Raises:
            CheckpointError: the model has no masked-word head.
            TextError: empty or too long.
        """
        answer = self._engine.call(
            "read_layers", model=model, text=text, word_ids=word_ids, top_k=top_k
        )
        return cast(LogitLens, answer)

    def predict_next_sentence(
        self, model: str, first: str, second: str
    ) -> NextSentence:
        """P(is next) of two texts, and of the two swapped.

        Raises:
            CheckpointError: the model has no next-sentence head.
            TextError: an empty text, or too long.
        """
        answer = self._engine.call(
            "predict_next_sentence", model=model, first=first, second=second
        )
        return cast(NextSentence, answer)

    def switch_gelu(self, model: str, text: str, top_k: int = 10) -> GeluSwitch:
        """Predicts the masks with the erf and with the tanh GELU.

        Args:
            model: its id.
            text: with at least one mask.
            top_k: best words to keep of each prediction.

        Raises:
            CheckpointError: the model has no masked-word head.
            ConfigError: the model's activation is no GELU.
            TextError: no mask, empty or too long.
        """
        answer = self._engine.call("switch_gelu", model=model, text=text, top_k=top_k)
        return cast(GeluSwitch, answer)

    def find_whole_words(
        self,
        model: str,
        text: str,
        num_pieces: int,
        kind: str = "characters",
        mask_index: int = 0,
    ) -> WholeWords:
        """Finds the likeliest words of several pieces for one mask.

        Args:
            model: its id.
            text: with at least one mask.
            num_pieces: of the word, 1 to 8.
            kind: "characters" or "pieces".
            mask_index: which mask, left to right.

        Raises:
            CheckpointError: the model has no masked-word head.
            TextError: no mask, too long, or a vocabulary without such pieces.
        """
        answer = self._engine.call(
            "find_whole_words",
            model=model,
            text=text,
            num_pieces=num_pieces,
            kind=kind,
            mask_index=mask_index,
        )
        return cast(WholeWords, answer)

    def start_chain(
        self, model: str, text: str, settings: GibbsSettings, num_masks: int = 0
    ) -> GibbsState:
        """Where a Gibbs chain begins; the job `run_chain` goes on from there.

        Args:
            model: its id.
            text: what to begin with; not read if `num_masks` is not 0.
            settings: how to draw.
            num_masks: begins with so many masks; 0 begins with the text.

        Raises:
            CheckpointError: the model has no masked-word head.
            TextError: empty or too long.
        """
        answer = self._engine.call(
            "start_chain",
            model=model,
            text=text,
            settings=settings,
            num_masks=num_masks,
        )
        return cast(GibbsState, answer)
