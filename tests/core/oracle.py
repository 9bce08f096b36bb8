"""BERT once more, in NumPy: slow, float64, one text and one head at a time.

Written from the papers' formulas and not from the code under test, so that a
slip in one is not repeated in the other. Weights live in a nested dict:
`weights["layers"][0]["query"]` is `(kernel [in, out], bias [out])`, a norm is
`(gain, bias)`. Every one is random; a zero bias would hide a forgotten one.

Sources: Vaswani et al. 2017 (arXiv:1706.03762), section 3; Devlin et al. 2019
(arXiv:1810.04805); Ba et al. 2016 (arXiv:1607.06450); Hendrycks and Gimpel 2016
(arXiv:1606.08415); Ramachandran et al. 2017 (arXiv:1710.05941) for swish; Xiong et
al. 2020 (arXiv:2002.04745), figure 1, for the two orders of the norm.
"""

from __future__ import annotations

import math

import numpy as np

DENSE_OF_A_LAYER = ("query", "key", "value", "attention_output", "inner", "outer")


def random_weights(config, seed, num_labels=10):
    """Random numbers for every weight, exact in float32 so that models agree."""
    rng = np.random.default_rng(seed)
    hidden, inner = config.hidden_size, config.intermediate_size

    def draw(*shape, mean=0.0, scale=0.3):
        return rng.normal(mean, scale, shape).astype("float32").astype("float64")

    def dense(size_in, size_out):
        return draw(size_in, size_out, scale=size_in**-0.5), draw(size_out)

    def norm():
        return draw(hidden, mean=1.0), draw(hidden)

    def layer():
        sizes = {"inner": (hidden, inner), "outer": (inner, hidden)}
        parts = {
            name: dense(*sizes.get(name, (hidden, hidden))) for name in DENSE_OF_A_LAYER
        }
        return parts | {"attention_norm": norm(), "output_norm": norm()}

    return {
        "words": draw(config.vocab_size, hidden),
        "positions": draw(config.max_position_embeddings, hidden),
        "segments": draw(config.type_vocab_size, hidden),
        "embedding_norm": norm(),
        "layers": [layer() for _ in range(config.num_hidden_layers)],
        "final_norm": norm(),
        "pooler": dense(hidden, hidden),
        "transform": dense(hidden, hidden),
        "transform_norm": norm(),
        "decoder_bias": draw(config.vocab_size),
        "nsp": dense(hidden, 2),
        "classifier": dense(hidden, num_labels),
    }


def dropout_scale(rate):
    """What is kept is multiplied by it: the rate is met to a 256th."""
    dropped = round(256 * rate)
    return 256 / (256 - dropped)


def dense(x, kernel, bias):
    return x @ kernel + bias


def layer_norm(x, gain, bias, epsilon):
    out = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        vector = x[index]
        mean = sum(vector) / len(vector)
        variance = sum((value - mean) ** 2 for value in vector) / len(vector)
        out[index] = (vector - mean) / math.sqrt(variance + epsilon) * gain + bias
    return out


def _normal_cdf(x):
    return (1 + math.erf(x / math.sqrt(2))) / 2


def _tanh_cdf(x):
    return (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


ACTIVATIONS = {
    "gelu": np.vectorize(lambda x: x * _normal_cdf(x), otypes=["float64"]),
    "gelu_new": np.vectorize(lambda x: x * _tanh_cdf(x), otypes=["float64"]),
    "relu": np.vectorize(lambda x: max(x, 0.0), otypes=["float64"]),
    "swish": np.vectorize(lambda x: x / (1 + math.exp(-x)), otypes=["float64"]),
}


def embeddings(weights, config, input_ids, token_type_ids):
    """One text, int [T], to [T, H]."""
    summed = np.stack(
        [
            weights["words"][word] + weights["positions"][t] + weights["segments"][kind]
            for t, (word, kind) in enumerate(
                zip(input_ids, token_type_ids, strict=True)
            )
        ]
    )
    return layer_norm(summed, *weights["embedding_norm"], config.layer_norm_eps)


def attention(layer, num_heads, x, keep, head_mask=None, edge_mask=None):
    """One text [T, H]: context [T, H], raw scores and probabilities [N, T, T].

    What may not be looked at has a probability of exactly 0; scores are those
    before anything is masked.
    """
    tokens, hidden = x.shape
    size = hidden // num_heads
    query, key, value = (dense(x, *layer[name]) for name in ("query", "key", "value"))
    context = np.zeros_like(x)
    scores = np.zeros((num_heads, tokens, tokens))
    probs = np.zeros_like(scores)
    for head in range(num_heads):
        part = slice(head * size, (head + 1) * size)
        strength = 1.0 if head_mask is None else head_mask[head]
        for q in range(tokens):
            allowed = [
                k
                for k in range(tokens)
                if keep[k] and (edge_mask is None or edge_mask[head, q, k])
            ]
            for k in range(tokens):
                scores[head, q, k] = query[q, part] @ key[k, part] / math.sqrt(size)
            highest = max(scores[head, q, k] for k in allowed)
            powers = {k: math.exp(scores[head, q, k] - highest) for k in allowed}
            for k in allowed:
                probs[head, q, k] = powers[k] / sum(powers.values())
                context[q, part] += strength * probs[head, q, k] * value[k, part]
    return context, scores, probs


def feed_forward(layer, config, x, neuron_mask=None):
    neurons = ACTIVATIONS[config.hidden_act](dense(x, *layer["inner"]))
    if neuron_mask is not None:
        neurons = neurons * neuron_mask
    return dense(neurons, *layer["outer"])


def block(layer, config, x, keep, head_mask=None, edge_mask=None, neuron_mask=None):
    """One text [T, H] through one block: ([T, H], probabilities [N, T, T])."""

    def norm(name, vectors):
        return layer_norm(vectors, *layer[name], config.layer_norm_eps)

    def attend(vectors):
        context, _, probs = attention(
            layer, config.num_attention_heads, vectors, keep, head_mask, edge_mask
        )
        return dense(context, *layer["attention_output"]), probs

    if config.pre_norm:
        update, probs = attend(norm("attention_norm", x))
        x = x + update
        update = feed_forward(layer, config, norm("output_norm", x), neuron_mask)
        return x + update, probs
    update, probs = attend(x)
    x = norm("attention_norm", x + update)
    update = feed_forward(layer, config, x, neuron_mask)
    return norm("output_norm", x + update), probs


def pooler(weights, sequence_output):
    """[T, H] to [H]."""
    return np.tanh(dense(sequence_output[0], *weights["pooler"]))


def mlm(weights, config, vector):
    """[H] to a score for each of V words."""
    changed = ACTIVATIONS[config.hidden_act](dense(vector, *weights["transform"]))
    changed = layer_norm(changed, *weights["transform_norm"], config.layer_norm_eps)
    return np.array(
        [
            changed @ word + bias
            for word, bias in zip(
                weights["words"], weights["decoder_bias"], strict=True
            )
        ]
    )


def forward(weights, config, inputs):
    """The whole model on a batch; `inputs` by the names of `Bert.call`."""
    ids = inputs["input_ids"]
    texts = [_forward_one(weights, config, inputs, b) for b in range(len(ids))]
    result = {name: np.stack([text[name] for text in texts]) for name in texts[0]}
    if "mlm_positions" in inputs:
        tokens = ids.shape[1]
        places = [divmod(place, tokens) for place in inputs["mlm_positions"]]
        result["mlm_logits"] = np.stack(
            [mlm(weights, config, result["sequence_output"][place]) for place in places]
        )
    return result


def _forward_one(weights, config, inputs, b):
    ids = inputs["input_ids"][b]

    def of_text(name, default=None):
        """The row of this text; one row serves all."""
        array = inputs.get(name)
        return default if array is None else array[b if len(array) > 1 else 0]

    keep = of_text("attention_mask", np.ones_like(ids))
    edges, heads = of_text("edge_mask"), of_text("head_mask")
    neurons = of_text("neuron_mask")
    full = (config.num_hidden_layers, config.num_attention_heads, len(ids), len(ids))
    if edges is not None:
        edges = np.broadcast_to(edges, full)

    def replaced(x, index):
        chosen = of_text("replace_mask")
        if chosen is None:
            return x
        rows = of_text("replacement")[index]
        return np.stack(
            [rows[t] if chosen[index][t] else x[t] for t in range(len(ids))]
        )

    x = embeddings(weights, config, ids, of_text("token_type_ids", np.zeros_like(ids)))
    x = replaced(x, 0)
    states, all_probs = [x], []
    for index, layer in enumerate(weights["layers"]):
        x, probs = block(
            layer,
            config,
            x,
            keep,
            head_mask=None if heads is None else heads[index],
            edge_mask=None if edges is None else edges[index],
            neuron_mask=None if neurons is None else neurons[index],
        )
        x = replaced(x, index + 1)
        states.append(x)
        all_probs.append(probs)
    if config.pre_norm:
        x = layer_norm(x, *weights["final_norm"], config.layer_norm_eps)
    pooled = pooler(weights, x)
    return {
        "hidden_states": np.stack(states),
        "attention_probs": np.stack(all_probs),
        "sequence_output": x,
        "pooled_output": pooled,
        "nsp_logits": dense(pooled, *weights["nsp"]),
        "class_logits": dense(pooled, *weights["classifier"]),
    }
