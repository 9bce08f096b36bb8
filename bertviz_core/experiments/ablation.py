"""Exact maps: switch off each head, or each half of a layer, and look again."""

import numpy as np

from bertviz_core.analysis.logit_rows import softmax_rows
from bertviz_core.experiments.cause_results import ABLATED_PARTS, AblationMap, Target
from bertviz_core.experiments.targets import Question, ask
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold


@task()
def ablate_heads(
    explorer: Explorer,
    text: str,
    target: Target,
    pair: str | None = None,
    progress: Progress = untold,
) -> AblationMap:
    """Switches off each head alone: L x N answers, exact.

    The attention of a layer is computed once for its N copies, and each copy
    runs through the layers above only: about half the work of L x N passes, in
    large batches.

    Source: Michel et al. 2019 (arXiv:1905.10650), section 3.2, "ablating one head".
    """
    num_heads = explorer.config.num_attention_heads
    strengths = 1.0 - np.eye(num_heads, dtype="float32")
    question = ask(explorer, text, target, pair)
    return _ablate(question, strengths, np.ones(num_heads, "float32"), progress)


@task()
def ablate_parts(
    explorer: Explorer,
    text: str,
    target: Target,
    pair: str | None = None,
    progress: Progress = untold,
) -> AblationMap:
    """Switches off each layer's attention, its feed-forward block, and both: `[L, 3]`.

    What remains of a half that is off is the bias of its output projection, as in
    `switching`. There is a column for each of `ABLATED_PARTS`.
    """
    off = {"attention": (0.0, 1.0), "feed_forward": (1.0, 0.0), "both": (0.0, 0.0)}
    chosen = np.array([off[part] for part in ABLATED_PARTS], "float32")  # [3, 2]
    strengths = np.repeat(chosen[:, :1], explorer.config.num_attention_heads, axis=1)
    question = ask(explorer, text, target, pair)
    return _ablate(question, strengths, chosen[:, 1], progress)


def switch_in_layers(
    question: Question,
    states: np.ndarray,
    layers: np.ndarray,
    heads: np.ndarray,
    neurons: np.ndarray,
    progress: Progress = untold,
) -> tuple[np.ndarray, np.ndarray]:
    """What becomes of an answer where parts of one layer pass on less, exactly.

    Args:
        states: float `[L + 1, T, H]`, the text's hidden states.
        layers: int `[R]`, not falling: in which each of R copies is changed.
        heads: float `[R, N]`, strengths of its heads, 0 for off.
        neurons: float `[R, I or 1]`, of its neurons.

    Returns:
        Probabilities and logits of the target, float64 `[R]`.
    """

    def enter(level: int, rows: np.ndarray) -> np.ndarray:
        # One text goes in; from where its copies differ, there are as many as rows.
        return question.explorer.forward.block(
            level - 1,
            states[level - 1][None],
            keep=("output",),
            scale={
                "attention.head_context": heads[rows, :, None, None],
                "mlp.post": neurons[rows, None],
            },
        )["output"]

    answers = question.run_upwards(layers + 1, enter, progress).astype(np.float64)
    index = question.target.index
    return softmax_rows(answers)[:, index], answers[:, index]


def _ablate(
    question: Question, heads: np.ndarray, feed_forward: np.ndarray, progress: Progress
) -> AblationMap:
    """The same C variants in every layer: strengths `[C, N]` and `[C]`."""
    before, found = question.run(also=("hidden_states",))
    states = found["hidden_states"]
    shape = num_layers, num_variants = len(states) - 1, len(heads)
    layers = np.repeat(np.arange(num_layers), num_variants)
    heads = np.tile(heads, (num_layers, 1))
    neurons = np.tile(feed_forward, num_layers)[:, None]
    both = switch_in_layers(question, states, layers, heads, neurons, progress)
    return AblationMap(before, both[0].reshape(shape), both[1].reshape(shape))
