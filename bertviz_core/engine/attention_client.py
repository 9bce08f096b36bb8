"""The part of `Client` that asks where tokens look."""

from __future__ import annotations

from typing import cast

import numpy as np

from bertviz_core.engine.engine import Engine
from bertviz_core.experiments.attention_results import CorpusProfile, PairArithmetic
from bertviz_core.figures.attention_view import StrongestLinks


class AttentionClient:
    """Methods of `Client`; see there for what all of them raise."""

    _engine: Engine

    def attention_matrix(
        self,
        model: str,
        text: str,
        method: str,
        layer: int,
        head: int,
        pair: str | None = None,
        cut: bool = False,
        heads: tuple[tuple[int, int], ...] = (),
    ) -> np.ndarray:
        """One matrix of a text's attention, float32 `[T, T]`; rows look.

        Args:
            model: its id.
            text: the first text.
            method: "head", one head; "layer", the mean of a layer's heads; "chosen",
                the mean of `heads`; "mean" or "max" of all heads; "rollout" up to a
                layer; "norms", the length of what a layer brings from each token;
                "value_zeroing" in a layer.
            layer: from 0; not read by "mean" and "max".
            head: from 0; read by "head" alone.
            pair: the second text.
            cut: leaves out what is beyond the last position.
            heads: (layer, head) pairs from 0, for "chosen".

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "attention_matrix",
            model=model,
            text=text,
            method=method,
            layer=layer,
            head=head,
            pair=pair,
            cut=cut,
            heads=heads,
        )
        return cast(np.ndarray, answer)

    def attention_thumbnails(
        self, model: str, text: str, pair: str | None = None, cut: bool = False
    ) -> np.ndarray:
        """A small picture of every head, uint8 `[L, N, h, w]`.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "attention_thumbnails", model=model, text=text, pair=pair, cut=cut
        )
        return cast(np.ndarray, answer)

    def attention_links(
        self,
        model: str,
        text: str,
        layer: int,
        pair: str | None = None,
        cut: bool = False,
    ) -> StrongestLinks:
        """The strongest links of every row of a layer's heads.

        Args:
            model: its id.
            text: the first text.
            layer: from 0.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "attention_links", model=model, text=text, layer=layer, pair=pair, cut=cut
        )
        return cast(StrongestLinks, answer)

    def attention_mass(
        self,
        model: str,
        text: str,
        position: int,
        pair: str | None = None,
        cut: bool = False,
    ) -> np.ndarray:
        """What each head gives to real words from one token, float `[L, N]`.

        Args:
            model: its id.
            text: the first text.
            position: index of the token that looks.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "attention_mass",
            model=model,
            text=text,
            position=position,
            pair=pair,
            cut=cut,
        )
        return cast(np.ndarray, answer)

    def pair_arithmetic(
        self,
        model: str,
        text: str,
        layer: int,
        head: int,
        query_token: int,
        key_token: int,
        pair: str | None = None,
        cut: bool = False,
    ) -> PairArithmetic:
        """How one attention probability comes about, number by number.

        Args:
            model: its id.
            text: the first text.
            layer: from 0.
            head: from 0.
            query_token: index of the token that looks.
            key_token: index of the token that is looked at.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "pair_arithmetic",
            model=model,
            text=text,
            layer=layer,
            head=head,
            query_token=query_token,
            key_token=key_token,
            pair=pair,
            cut=cut,
        )
        return cast(PairArithmetic, answer)

    def profile_heads(
        self, model: str, text: str, pair: str | None = None, cut: bool = False
    ) -> CorpusProfile:
        """Measures all heads on one text; `language` of the result is empty.

        Args:
            model: its id.
            text: the first text.
            pair: the second text.
            cut: leaves out what is beyond the last position.

        Raises:
            TextError: empty, or too long while `cut` is false.
        """
        answer = self._engine.call(
            "profile_heads", model=model, text=text, pair=pair, cut=cut
        )
        return cast(CorpusProfile, answer)
