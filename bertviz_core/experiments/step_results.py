"""The steps from a word to a prediction, described. NumPy only.

T tokens (Q of them look, K are looked at), N heads, D head size, H hidden size,
I intermediate size, V vocabulary, P asked positions, C classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bertviz_core.experiments.step_table import EMBEDDING_OPERATIONS
from bertviz_core.trace import FrozenArrays


@dataclass(frozen=True)
class CodePlace:
    """The lines of the core that compute a step, one in most cases."""

    module: str  # its dotted name
    qualified_name: str  # of the function in it, "Class.method"
    line: int  # number of the first line in its file, from 1
    code: str  # the lines, without their common indentation

    @property
    def last_line(self) -> int:
        """Number of the last line in its file, from 1."""
        return self.line + self.code.count("\n")


@dataclass(frozen=True)
class LayerStep:
    """One operation on the way."""

    # "layer_2/attention_scores", or the operation alone outside of layers; the same for
    # every text.
    name: str
    operation: str  # what is done, a key of `step_table.OPERATIONS`
    layer: int | None  # from 0; `None` outside of layers
    # Letters of the axes, see the head of this file; "2" for the two answers of
    # next-sentence prediction.
    axes: tuple[str, ...]
    shape: tuple[int, ...]  # their sizes with this text
    formula: str  # LaTeX, without the signs around it
    inputs: tuple[str, ...]  # names of the steps that it is computed from
    place: CodePlace  # where the core computes it

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
    """One part of the network at one token, number by number."""

    token: int  # index of the token
    # By the step's name, in their order, that which enters the part first: float, the
    # step's array, see `StepReader.values`, without its axis of tokens: [H], [I] or
    # [V]; [N, D], the token's own query, key or value; [N, K], what it gives to every
    # token. A step without such an axis has all its numbers.
    values: Mapping[str, np.ndarray]
    # What the pooler starts from, by the step's name, which is of the first token;
    # empty in a part without a pooler.
    pooler_reads: Mapping[str, np.ndarray]

    def of(self, step_name: str) -> np.ndarray | None:
        """The numbers of a step; `None` for one of another part."""
        return self.values.get(step_name)

    def read_by(self, step: LayerStep, input_name: str) -> np.ndarray | None:
        """What a step of this part got from an input, at the token that it reads.

        `None` for an input of another part that does not enter this one.
        """
        found = self.pooler_reads.get(input_name) if step.is_pooled else None
        return self.of(input_name) if found is None else found


@dataclass(frozen=True)
class StepTable(FrozenArrays):
    """What a step computed for many tokens, as a table."""

    first: int  # index of the token of the first row
    # float32 [R, C], a row for each token. C is H, I or D; for attention R as well, the
    # columns being the same tokens as the rows.
    values: np.ndarray


@dataclass(frozen=True)
class NormInput(FrozenArrays):
    """What one layer norm got for one token, to try it by hand."""

    step: str  # name of the norm's step
    vector: np.ndarray  # float32 [H], before the norm
    # Both: float32 [H], the norm's own weights.
    gamma: np.ndarray
    beta: np.ndarray
    epsilon: float  # added to the variance


@dataclass(frozen=True)
class ResidualStream(FrozenArrays):
    """Lengths of the residual and of what each half of a layer adds to it."""

    tokens: tuple[str, ...]  # T pieces
    # Whether the residual runs through without a norm; with norms after each sum, as in
    # BERT, every sum is brought to a new length.
    pre_norm: bool
    residual_norms: np.ndarray  # float64 [L, T], length of what enters a layer
    attention_norms: np.ndarray  # float64 [L, T], length of what attention adds to it
    # float64 [L, T], of this update with what it is added to, in [-1, 1]; NaN where one
    # of the two is 0.
    attention_cosines: np.ndarray
    # float64 [L, T], length of what the feed-forward network's update is added to: the
    # sum before, after its norm in a post-norm model.
    middle_norms: np.ndarray
    feed_forward_norms: np.ndarray  # float64 [L, T], length of that update
    feed_forward_cosines: np.ndarray  # float64 [L, T], see `attention_cosines`
    output_norms: np.ndarray  # float64 [L, T], length of what leaves the layer
    sum_norms: np.ndarray  # float64 [L, 2, T], length of each half's sum, before a norm


@dataclass(frozen=True)
class StrongNeurons(FrozenArrays):
    """The feed-forward neurons that are strongest at one token."""

    layer: int  # from 0
    token: int  # index of the token
    order: str  # what "strongest" means, "activation" or "contribution"
    neurons: np.ndarray  # int64 [F], indices below I, strongest first
    activations: np.ndarray  # float32 [F], after the activation function
    # float32 [F], length of what the neuron adds to the residual: size of the
    # activation times the length of its row of the second projection.
    contributions: np.ndarray


@dataclass(frozen=True)
class NeuronWords(FrozenArrays):
    """Words that a neuron promotes and suppresses."""

    promoted_tokens: tuple[str, ...]  # k pieces, most promoted first
    promoted_changes: np.ndarray  # float32 [k], what the neuron adds to their logits
    suppressed_tokens: tuple[str, ...]  # k pieces, most suppressed first
    suppressed_changes: np.ndarray  # float32 [k]


@dataclass(frozen=True)
class NeuronFactors(FrozenArrays):
    """A text's neurons that fire together."""

    tokens: tuple[str, ...]  # T pieces
    weights: np.ndarray  # float64 [F, T], how much of each factor a token holds
    # int64 [F, k, 2], (layer, neuron) pairs that a factor is most made of, strongest
    # first.
    top_neurons: np.ndarray
    # float64 [F, k], their numbers in the factor, whose length is 1.
    top_shares: np.ndarray
    # Length of what the factors leave out, as a share of that of all activations; 0 is
    # perfect.
    error: float
    # Length of the activations below 0, which were set to 0, as a share of that of all
    # activations.
    negative_share: float
    num_iterations: int  # until nothing more was won
    seed: int  # of the start; another may find other factors
