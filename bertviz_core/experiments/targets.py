"""The answer that an experiment watches: found in a text, read from logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertviz_core.analysis.sampling import rank_of, rank_order, softmax
from bertviz_core.config import BertConfig
from bertviz_core.errors import TextError
from bertviz_core.experiments.answer_results import Answers
from bertviz_core.experiments.cause_results import Prediction, Target
from bertviz_core.explorer import Explorer
from bertviz_core.interventions import Interventions
from bertviz_core.trace import TokenizedText

# Where `Bert` puts the logits of a head.
LOGITS = {"mlm": "mlm_logits", "nsp": "nsp_logits", "classifier": "class_logits"}
NUM_TOP = 5

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Question:
    """A text, ready for the model, and what is asked of it.

    Args:
        explorer: whose model is asked.
        target: what is watched.
        tokenized: the text.
        inputs: of `CompiledForward`, a batch of one.
    """

    explorer: Explorer
    target: Target
    tokenized: TokenizedText
    inputs: Arrays

    def run(
        self, interventions: Interventions | None = None, also: tuple[str, ...] = ()
    ) -> tuple[Prediction, Arrays]:
        """One forward pass.

        Args:
            interventions: heads, edges and neurons to switch off on the way.
            also: further outputs of `Bert` that are wanted.

        Returns:
            What the model says about the target; and, each without its batch
            axis, the head's logits, `hidden_states` and the outputs in `also`.
        """
        inputs = self.inputs
        if interventions is not None:
            config, num_tokens = self.explorer.config, self.tokenized.num_tokens
            switched = interventions.inputs(config, num_tokens)
            inputs = inputs | _nothing_off(config, num_tokens) | switched
        name = LOGITS[self.target.head]
        # The same outputs each time, asked for or not: another set would be
        # another graph, which takes seconds to make for a large model.
        outputs = self.explorer.forward(inputs, (name, "hidden_states", *also))
        found = {key: array[0] for key, array in outputs.items()}
        return read_prediction(found[name], self.target), found


def ask(
    explorer: Explorer,
    text: str,
    target: Target,
    pair: str | None = None,
    cut: bool = False,
) -> Question:
    """Checks that a text has the target, and makes it ready.

    Raises:
        CheckpointError: the model has no such head.
        TextError: no such token in the text, or see `Explorer.tokenize`.
        ValueError: `target.index` is beyond the head's outputs.
    """
    explorer.require_head(target.head)
    model = explorer.loaded.model
    sizes = {
        "mlm": explorer.config.vocab_size,
        "nsp": 2,
        "classifier": model.num_labels,
    }
    if target.index >= sizes[target.head]:
        raise ValueError(
            f"`index` must be below {sizes[target.head]}. Received: {target}."
        )
    tokenized = explorer.tokenize(text, pair, cut)
    if target.position >= tokenized.num_tokens:
        raise TextError(
            "The text has no token number {position}, which was to be watched. "
            "Received: {num_tokens} tokens. Choose a token of this text.",
            position=target.position + 1,
            num_tokens=tokenized.num_tokens,
        )
    inputs = {
        "input_ids": tokenized.input_ids[None],
        "token_type_ids": tokenized.token_type_ids[None],
    }
    if target.head == "mlm":
        inputs["mlm_positions"] = np.array([target.position], "int32")
    return Question(explorer, target, tokenized, inputs)


def read_prediction(logits: np.ndarray, target: Target) -> Prediction:
    """What a head's logits say about a target.

    Args:
        logits: float `[C]`, all outputs of the head.
        target: `index` is read.
    """
    return Prediction(
        logit=float(logits[target.index]),
        probability=float(softmax(logits)[target.index]),
        rank=rank_of(logits, target.index),
        is_number=len(logits) == 1,
    )


def compare_answers(before: Arrays, after: Arrays, target: Target) -> Answers:
    """The likeliest answers of two passes, whichever of them they come from.

    Args:
        before: what `Question.run` gives of one pass.
        after: the same of another.
        target: its answer is among them.
    """
    both = [found[LOGITS[target.head]] for found in (before, after)]
    orders = [rank_order(logits) for logits in both]
    best = {target.index, *(int(i) for order in orders for i in order[:NUM_TOP])}
    ids = orders[0][np.isin(orders[0], list(best))]
    is_number = len(both[0]) == 1
    values = [logits if is_number else softmax(logits) for logits in both]
    return Answers(
        ids=ids,
        values=np.stack([side[ids] for side in values]).astype(np.float64),
        ranks=np.stack([_ranks(order)[ids] for order in orders]),
    )


def _ranks(order: np.ndarray) -> np.ndarray:
    """From the ids in their order to the rank of each id, from 1."""
    ranks = np.empty_like(order)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def _nothing_off(config: BertConfig, num_tokens: int) -> Arrays:
    """Masks that change nothing, so that one graph serves any set of switches."""
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    return {
        "head_mask": np.ones((1, layers, heads), "float32"),
        "edge_mask": np.ones((1, 1, 1, num_tokens, num_tokens), "int32"),
        "neuron_mask": np.ones((1, layers, config.intermediate_size), "float32"),
    }
