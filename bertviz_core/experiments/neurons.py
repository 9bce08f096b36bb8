"""The neurons of the feed-forward networks: which fire, and which words they promote.

A neuron is one number after the activation function; it adds its activation times
its row of the second projection to the residual.

T tokens, H hidden size, I intermediate size, V vocabulary, F chosen neurons.
"""

import numpy as np

from bertviz_core.analysis.logit_rows import top_words
from bertviz_core.errors import require_index
from bertviz_core.experiments.layer_steps import block_values
from bertviz_core.experiments.masked_rows import piece_names
from bertviz_core.experiments.step_results import NeuronWords, StrongNeurons
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task
from bertviz_core.trace import Arrays, Trace
from bertviz_core.weights import as_numpy

ORDERS = ("activation", "contribution")


@task()
def strongest_neurons(
    explorer: Explorer,
    trace: Trace,
    layer: int,
    token: int,
    num_neurons: int = 10,
    order: str = "activation",
) -> StrongNeurons:
    """The neurons that are strongest at a token, by activation or by contribution.

    A contribution is the length of what a neuron adds to the residual, whatever the
    sign.
    """
    if order not in ORDERS:
        raise ValueError(f"`order` must be one of {ORDERS}. Received: {order}.")
    activations = _activations_at(explorer, trace, layer, token)[1]
    lengths = np.linalg.norm(_rows_out(explorer, layer), axis=1)  # [I]
    contributions = np.abs(activations) * lengths
    by = activations if order == "activation" else contributions
    neurons = np.argsort(-by, kind="stable")[:num_neurons]
    return StrongNeurons(
        layer, token, order, neurons, activations[neurons], contributions[neurons]
    )


@task()
def neuron_activations(
    explorer: Explorer, trace: Trace, layer: int, neuron: int
) -> np.ndarray:
    """One neuron at every token, float32 `[2, T]`: before and after its function."""
    require_index("neuron", neuron, explorer.config.intermediate_size)
    values = block_values(explorer, trace, layer)
    return np.stack([values[name][:, neuron] for name in ("mlp.pre", "mlp.post")])


@task()
def words_of_neuron(
    explorer: Explorer, layer: int, neuron: int, top_k: int = 10
) -> NeuronWords:
    """Words that a neuron promotes by its weights alone, without a text.

    Its row of the second projection is multiplied with every word's embedding: the
    change of the logits for an activation of 1, if there were nothing but the output
    embedding after it, which in BERT is that of the input. All norms, the later layers
    and the transform of the masked-word head are left out. That head's transform turns
    the vectors of the last layer before the embeddings meet them, so this reading is a
    rough one; `words_of_neuron_here` takes the head with it.

    Source: Geva et al. 2022 (arXiv:2203.14680), section 3, "sub-updates".
    """
    require_index("layer", layer, explorer.config.num_hidden_layers)
    require_index("neuron", neuron, explorer.config.intermediate_size)
    row = _rows_out(explorer, layer)[neuron]
    words = as_numpy(explorer.loaded.model.embeddings.word_embeddings)  # [V, H]
    changes = (words @ row)[None]
    return _words(explorer, changes, top_k)


@task()
def words_of_neuron_here(
    explorer: Explorer,
    trace: Trace,
    layer: int,
    neuron: int,
    token: int,
    top_k: int = 10,
) -> NeuronWords:
    """Words that a neuron promotes at one token, through norms and head.

    The layer's output at the token is read as if it were the last one, once as it is
    and once without what the neuron adds: through the layer's own norm (post-norm)
    or the final norm (pre-norm), and the masked-word head with its transform,
    activation, norm and decoder. The changes are the logits with the neuron less
    those without. Layers in between are left out; at the last layer the change is
    the model's own.

    Source: The logit lens, see `lens.read_layers`, with and without one neuron.
    """
    explorer.require_head("mlm")
    require_index("neuron", neuron, explorer.config.intermediate_size)
    values, activations = _activations_at(explorer, trace, layer, token)
    residual = values["mlp.residual"][token]
    added = activations[neuron] * _rows_out(explorer, layer)[neuron]
    both = np.stack([residual, residual - added])[None]  # [1, 2, H]
    changed = explorer.forward.block(
        layer, both, keep=("output",), replace={"mlp.residual": both}
    )
    logits = explorer.forward.read("mlm", changed["output"][0])["output"]
    changes = logits[:1] - logits[1:]  # [1, V]
    return _words(explorer, changes, top_k)


def _activations_at(
    explorer: Explorer, trace: Trace, layer: int, token: int
) -> tuple[Arrays, np.ndarray]:
    """The layer, and its neurons `[I]` at a token."""
    require_index("token", token, trace.tokenized.num_tokens)
    values = block_values(explorer, trace, layer)
    return values, values["mlp.post"][token]


def _rows_out(explorer: Explorer, layer: int) -> np.ndarray:
    """What each neuron adds for an activation of 1, `[I, H]`."""
    block = explorer.loaded.model.blocks[layer]
    return as_numpy(block.feed_forward.output_projection.kernel)


def _words(explorer: Explorer, changes: np.ndarray, top_k: int) -> NeuronWords:
    up, down = top_words(changes, top_k)[0], top_words(-changes, top_k)[0]
    return NeuronWords(
        promoted_tokens=piece_names(explorer, up),
        promoted_changes=changes[0, up],
        suppressed_tokens=piece_names(explorer, down),
        suppressed_changes=changes[0, down],
    )
