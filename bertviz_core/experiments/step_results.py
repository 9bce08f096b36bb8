"""The steps from a word to a prediction, described. NumPy only.

T tokens (Q of them look, K are looked at), N heads, D head size, H hidden size,
I intermediate size, V vocabulary, P asked positions, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.step_table import EMBEDDING_OPERATIONS
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class CodePlace:
    """The lines of the core that compute a step, one in most cases.

    Args:
        module: its dotted name.
        qualified_name: of the function in it, "Class.method".
        line: number of the first line in its file, from 1.
        code: the lines, without their common indentation.
    """

    module: str
    qualified_name: str
    line: int
    code: str

    @property
    def last_line(self) -> int:
        """Number of the last line in its file, from 1."""
        return self.line + self.code.count("\n")


@dataclass(frozen=True)
class LayerStep:
    """One operation on the way.

    Args:
        name: "layer_2/attention_scores", or the operation alone outside of layers;
            the same for every text.
        operation: what is done, a key of
            `step_table.OPERATIONS`.
        layer: from 0; `None` outside of layers.
        axes: letters of the axes, see the head of this file; "2" for the two
            answers of next-sentence prediction.
        shape: their sizes with this text.
        formula: LaTeX, without the signs around it.
        inputs: names of the steps that it is computed from.
        place: where the core computes it.
    """

    name: str
    operation: str
    layer: int | None
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    formula: str
    inputs: tuple[str, ...]
    place: CodePlace

    @property
    def part(self) -> str:
        """Of the network: "embeddings", "layer_2" (from 0) or "heads"."""
        if self.layer is not None:
            return f"layer_{self.layer}"
        return "embeddings" if self.operation in EMBEDDING_OPERATIONS else "heads"

    @property
    def is_pooled(self) -> bool:
        """Made of the first token alone, `[CLS]`, whichever token is followed."""
        return self.axes == ("H",)


@dataclass(frozen=True)
class PartNumbers:
    """One part of the network at one token, number by number.

    Args:
        token: index of the token.
        values: by the step's name, in their order, that which enters the part first:
            float, the step's array, see `StepReader.values`, without its axis of
            tokens: `[H]`, `[I]` or `[V]`; `[N, D]`, the token's own query, key or
            value; `[N, K]`, what it gives to every token. A step without such an axis
            has all its numbers.
        pooler_reads: what the pooler starts from, by the step's name, which is of the
            first token; empty in a part without a pooler.
    """

    token: int
    values: Mapping[str, np.ndarray]
    pooler_reads: Mapping[str, np.ndarray]

    def of(self, step_name: str) -> np.ndarray | None:
        """The numbers of a step; `None` for one of another part."""
        return self.values.get(step_name)

    def read_by(self, step: LayerStep, input_name: str) -> np.ndarray | None:
        """What a step got from one of its inputs, at the token that it reads.

        Args:
            step: of this part.
            input_name: one of its inputs.

        Returns:
            `None` for an input of another part that does not enter this one.
        """
        found = self.pooler_reads.get(input_name) if step.is_pooled else None
        return self.of(input_name) if found is None else found


@dataclass(frozen=True)
class StepTable(FrozenArrays):
    """What a step computed for many tokens, as a table.

    Args:
        first: index of the token of the first row.
        values: float32 `[R, C]`, a row for each token. C is H, I or D; for attention
            R as well, the columns being the same tokens as the rows.
    """

    first: int
    values: np.ndarray


@dataclass(frozen=True)
class NormInput(FrozenArrays):
    """What one layer norm got for one token, to try it by hand.

    Args:
        step: name of the norm's step.
        vector: float32 `[H]`, before the norm.
        gamma, beta: float32 `[H]`, the norm's own weights.
        epsilon: added to the variance.
    """

    step: str
    vector: np.ndarray
    gamma: np.ndarray
    beta: np.ndarray
    epsilon: float


@dataclass(frozen=True)
class ResidualStream(FrozenArrays):
    """Lengths of the residual and of what each half of a layer adds to it.

    Args:
        tokens: T pieces.
        pre_norm: whether the residual runs through without a norm; with norms after
            each sum, as in BERT, every sum is brought to a new length.
        residual_norms: float64 `[L, T]`, length of what enters a layer.
        attention_norms: float64 `[L, T]`, length of what attention adds to it.
        attention_cosines: float64 `[L, T]`, of this update with what it is added
            to, in [-1, 1]; NaN where one of the two is 0.
        middle_norms: float64 `[L, T]`, length of what the feed-forward network's
            update is added to: the sum before, after its norm in a post-norm model.
        feed_forward_norms: float64 `[L, T]`, length of that update.
        feed_forward_cosines: float64 `[L, T]`, see `attention_cosines`.
        output_norms: float64 `[L, T]`, length of what leaves the layer.
        sum_norms: float64 `[L, 2, T]`, length of each half's sum, before a norm.
    """

    tokens: tuple[str, ...]
    pre_norm: bool
    residual_norms: np.ndarray
    attention_norms: np.ndarray
    attention_cosines: np.ndarray
    middle_norms: np.ndarray
    feed_forward_norms: np.ndarray
    feed_forward_cosines: np.ndarray
    output_norms: np.ndarray
    sum_norms: np.ndarray


@dataclass(frozen=True)
class StrongNeurons(FrozenArrays):
    """The feed-forward neurons that are strongest at one token.

    Args:
        layer: from 0.
        token: index of the token.
        order: what "strongest" means, "activation" or "contribution".
        neurons: int64 `[F]`, indices below I, strongest first.
        activations: float32 `[F]`, after the activation function.
        contributions: float32 `[F]`, length of what the neuron adds to the residual:
            size of the activation times the length of its row of the second
            projection.
    """

    layer: int
    token: int
    order: str
    neurons: np.ndarray
    activations: np.ndarray
    contributions: np.ndarray


@dataclass(frozen=True)
class NeuronWords(FrozenArrays):
    """Words that a neuron promotes and suppresses.

    Args:
        promoted_tokens: k pieces, most promoted first.
        promoted_changes: float32 `[k]`, what the neuron adds to their logits.
        suppressed_tokens: k pieces, most suppressed first.
        suppressed_changes: float32 `[k]`.
    """

    promoted_tokens: tuple[str, ...]
    promoted_changes: np.ndarray
    suppressed_tokens: tuple[str, ...]
    suppressed_changes: np.ndarray


@dataclass(frozen=True)
class NeuronFactors(FrozenArrays):
    """A text's neurons that fire together.

    Args:
        tokens: T pieces.
        weights: float64 `[F, T]`, how much of each factor a token holds.
        top_neurons: int64 `[F, k, 2]`, (layer, neuron) pairs that a factor is most
            made of, strongest first.
        top_shares: float64 `[F, k]`, their numbers in the factor, whose length is 1.
        error: length of what the factors leave out, as a share of that of all
            activations; 0 is perfect.
        negative_share: length of the activations below 0, which were set to 0, as a
            share of that of all activations.
        num_iterations: until nothing more was won.
        seed: of the start; another may find other factors.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray
    top_neurons: np.ndarray
    top_shares: np.ndarray
    error: float
    negative_share: float
    num_iterations: int
    seed: int
