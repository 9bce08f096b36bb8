"""The residual stream: how long it is, and what each half of a layer adds to it."""

import numpy as np

from bertviz_core.analysis.layer_similarity import layer_similarities
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.experiments.step_results import ResidualStream
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import Trace


@task()
def residual_stream(
    explorer: Explorer, trace: Trace, progress: Progress = untold
) -> ResidualStream:
    """Measures the residual and both updates at every layer and token."""
    rows = []
    pre_norm = explorer.config.pre_norm
    added_to = "attention.residual" if pre_norm else "attention.norm"
    num_layers = explorer.config.num_hidden_layers
    for layer in range(num_layers):
        progress(layer / num_layers, "residual_stream")
        values = block_values(explorer, trace, layer)
        x, attention = values["input"], values["attention.output"]
        middle, update = values[added_to], values["mlp.output"]
        rows.append(
            {
                "residual_norms": _norms(x),
                "attention_norms": _norms(attention),
                "attention_cosines": _cosines(attention, x),
                "middle_norms": _norms(middle),
                "feed_forward_norms": _norms(update),
                "feed_forward_cosines": _cosines(update, middle),
                "output_norms": _norms(values["output"]),
                "sum_norms": _norms(np.stack([x + attention, middle + update])),
            }
        )
    arrays = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return ResidualStream(tokens=trace.tokenized.tokens, pre_norm=pre_norm, **arrays)


def _norms(x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x.astype(np.float64), axis=-1)


def _cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row by row; NaN where one of the two has no direction."""
    lengths = _norms(x) * _norms(y)
    products = np.einsum("th,th->t", x, y, dtype=np.float64)
    nothing = np.full_like(products, np.nan)
    return np.divide(products, lengths, out=nothing, where=lengths > 0)


@task()
def layer_similarity(trace: Trace) -> np.ndarray:
    """How alike every two layers see the tokens, `[L + 1, L + 1]`."""
    return layer_similarities(np.asarray(trace.hidden_states))
