"""Single steps, for tests that ask for one, and what the model itself computes."""

import dataclasses

import numpy as np
from keras import ops

from bertviz_core.experiments.layer_steps import StepReader
from bertviz_core.explorer import Explorer
from bertviz_core.model.bert import Bert


def step_values(explorer, trace, name):
    """The numbers of one step; see `StepReader.values`."""
    return StepReader(explorer, trace).values(name)


def in_double_precision(explorer):
    """The same model with the same weights, whose parts compute in float64."""
    model = explorer.loaded.model
    wide = Bert(model.config, model.heads, model.num_labels, dtype="float64")
    for weight, own in zip(wide.weights, model.weights, strict=True):
        assert weight.path == own.path
        weight.assign(own.numpy())
    return Explorer(dataclasses.replace(explorer.loaded, model=wide))


def model_values(explorer, trace, layer):
    """What the parts of the model itself compute, one after another, as it computes."""
    model, pre_norm = explorer.loaded.model, explorer.config.pre_norm
    block = model.blocks[layer]
    x = ops.cast(trace.hidden_states[layer][None], block.compute_dtype)
    source = block.attention_norm(x) if pre_norm else x
    pattern = model._with_pattern(ops.zeros(x.shape[:2]), None)
    attention = block.attention(source, pattern)
    update = block.attention_output(attention.context)
    residual = x + update
    normed = block.attention_norm(residual) if not pre_norm else source
    enters = block.output_norm(residual) if pre_norm else normed
    inner = block.feed_forward.intermediate(enters)
    last = (residual if pre_norm else enters) + block.feed_forward(enters)
    found = {
        **{
            name: block.attention._split_heads(getattr(block.attention, name)(source))
            for name in ("query", "key", "value")
        },
        "masked_scores": attention.scores,
        "attention_probs": attention.probs,
        "context": attention.context,
        "attention_output": update,
        "attention_residual": residual,
        "attention_norm": normed,
        "intermediate": inner,
        "neurons": block.feed_forward.activation(inner),
        "feed_forward_output": block.feed_forward(enters),
        "output_residual": last,
        "output_norm": enters if pre_norm else block.output_norm(last),
    }
    return {name: ops.convert_to_numpy(value)[0] for name, value in found.items()}


def close(actual, expected, read=None, share=1e-6):
    """To 1e-6 of the largest number, which is as near as float32 comes to float64.

    For what only a model in float32 says; see `in_double_precision` for the rest.

    Args:
        actual: in float64.
        expected: the model's own, in float32.
        read: whose largest number counts; `None` for `expected` itself.
        share: of the largest number, where it is another one.
    """
    size = max(1.0, float(np.abs(expected if read is None else read).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * size)
