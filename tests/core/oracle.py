"""BERT once more, in NumPy: slow, float64, one text and one head at a time.

Written from the papers' formulas and not from the code under test, so that a
slip in one is not repeated in the other. Weights live in a nested dict:
`weights["layers"][0]["query"]` is `(kernel [in, out], bias [out])`, a norm is
`(gain, bias)`. Every one is random; a zero bias would hide a forgotten one.
Each result passes through `tap(name, value)`, which may note it or give another.

Sources: Vaswani et al. 2017 (arXiv:1706.03762), section 3; Devlin et al. 2019
(arXiv:1810.04805); Ba et al. 2016 (arXiv:1607.06450); Hendrycks and Gimpel 2016
(arXiv:1606.08415); Ramachandran et al. 2017 (arXiv:1710.05941) for swish; Xiong et
al. 2020 (arXiv:2002.04745), figure 1, for the two orders of the norm.
"""

from __future__ import annotations

import math

import numpy as np

# What google-research/bert takes off a score that is hidden.
HIDDEN_SCORE = 10000.0
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


def untouched(name, value):
    """A tap that notes nothing and changes nothing."""
    return value


def within(tap, place):
    return lambda name, value: tap(f"{place}.{name}", value)


def embeddings(weights, config, input_ids, token_type_ids, tap=untouched):
    """One text, int [T], to [T, H]."""
    words = tap("word", np.stack([weights["words"][word] for word in input_ids]))
    places = tap("position", weights["positions"][: len(input_ids)])
    kinds = np.stack([weights["segments"][kind] for kind in token_type_ids])
    summed = tap("sum", words + places + tap("token_type", kinds))
    normed = layer_norm(summed, *weights["embedding_norm"], config.layer_norm_eps)
    return tap("norm", normed)


def attention(layer, num_heads, x, visible, tap=untouched):
    """One text [T, H]: context [T, H] and probabilities [N, T, T].

    What is not visible, [N or 1, T or 1, T], has a probability of exactly 0.
    """
    tokens, hidden = x.shape
    size = hidden // num_heads
    parts = [slice(head * size, (head + 1) * size) for head in range(num_heads)]
    query, key, value = (
        tap(name, np.stack([dense(x, *layer[name])[:, part] for part in parts]))
        for name in ("query", "key", "value")
    )  # [N, T, D]
    scores = np.zeros((num_heads, tokens, tokens))
    for head, q, k in np.ndindex(scores.shape):
        scores[head, q, k] = query[head, q] @ key[head, k] / math.sqrt(size)
    scores = tap("scores", scores)
    masked = tap("masked_scores", np.where(visible, scores, scores - HIDDEN_SCORE))
    probs = np.zeros_like(masked)
    for head, q in np.ndindex(probs.shape[:2]):
        highest = max(masked[head, q])
        powers = [math.exp(score - highest) for score in masked[head, q]]
        probs[head, q] = [power / sum(powers) for power in powers]
    probs = tap("probs", probs)
    by_head = np.zeros_like(query)
    for head, q, k in np.ndindex(probs.shape):
        by_head[head, q] += probs[head, q, k] * value[head, k]
    by_head = tap("head_context", by_head)
    return tap("context", np.concatenate(list(by_head), axis=-1)), probs


def feed_forward(layer, config, x, tap=untouched):
    neurons = ACTIVATIONS[config.hidden_act](tap("pre", dense(x, *layer["inner"])))
    return tap("output", dense(tap("post", neurons), *layer["outer"]))


def block(layer, config, x, visible=1, tap=untouched):
    """One text [T, H] through one block: ([T, H], probabilities [N, T, T])."""
    in_attention, in_mlp = within(tap, "attention"), within(tap, "mlp")

    def norm(name, tap, vectors):
        return tap("norm", layer_norm(vectors, *layer[name], config.layer_norm_eps))

    def attend(vectors):
        heads = config.num_attention_heads
        context, probs = attention(layer, heads, vectors, visible, in_attention)
        update = dense(context, *layer["attention_output"])
        return in_attention("output", update), probs

    if config.pre_norm:
        update, probs = attend(norm("attention_norm", in_attention, x))
        x = in_attention("residual", x + update)
        normed = norm("output_norm", in_mlp, x)
        update = feed_forward(layer, config, normed, in_mlp)
        return in_mlp("residual", x + update), probs
    update, probs = attend(x)
    x = in_attention("residual", x + update)
    x = norm("attention_norm", in_attention, x)
    update = feed_forward(layer, config, x, in_mlp)
    return norm("output_norm", in_mlp, in_mlp("residual", x + update)), probs


def pooler(weights, sequence_output, tap=untouched):
    """[T, H] to [H]."""
    projected = tap("pre", dense(sequence_output[0], *weights["pooler"]))
    return tap("output", np.tanh(projected))


def mlm(weights, config, vector, tap=untouched):
    """[H] to a score for each of V words."""
    changed = tap("pre", dense(vector, *weights["transform"]))
    changed = tap("post", ACTIVATIONS[config.hidden_act](changed))
    changed = layer_norm(changed, *weights["transform_norm"], config.layer_norm_eps)
    changed = tap("norm", changed)
    rows = zip(weights["words"], weights["decoder_bias"], strict=True)
    return tap("logits", np.array([changed @ word + bias for word, bias in rows]))


def forward(weights, config, inputs, seen=None):
    """The whole model on a batch; `inputs` by the names of `Bert.call`.

    `seen`, a dict, takes in each activation by its name: [B, ...], and [P, ...] of
    the masked-word head.
    """
    ids = inputs["input_ids"]
    places = inputs.get("mlm_positions", ())
    of_texts, of_words = [{} for _ in ids], [{} for _ in places]
    result = stacked(
        [forward_one(weights, config, inputs, b, noted) for b, noted in _taps(of_texts)]
    )
    if "mlm_positions" in inputs:
        vectors = result["sequence_output"].reshape(-1, config.hidden_size)
        result["mlm_logits"] = np.stack(
            [
                mlm(weights, config, vectors[places[p]], within(noted, "mlm"))
                for p, noted in _taps(of_words)
            ]
        )
    if seen is not None:
        seen |= stacked(of_texts) | stacked(of_words)
    return result


def _taps(notes):
    """The number of each dict, and a tap that notes in it."""
    for index, seen in enumerate(notes):
        yield index, lambda name, value, seen=seen: seen.setdefault(name, value)


def stacked(dicts):
    return {name: np.stack([d[name] for d in dicts]) for name in dicts[0]}


def forward_one(weights, config, inputs, b, tap):
    """All of a text but its words."""
    ids = inputs["input_ids"][b]
    layers, heads = config.num_hidden_layers, config.num_attention_heads

    def of_text(name, default):
        """The row of this text; one row serves all."""
        array = inputs.get(name)
        return default if array is None else array[b if len(array) > 1 else 0]

    visible = np.ones((layers, heads, len(ids), len(ids)))
    visible *= of_text("attention_mask", 1) * of_text("edge_mask", 1)
    strengths = {
        "attention.head_context": of_text("head_mask", np.ones((layers, heads))),
        "mlp.post": of_text("neuron_mask", np.ones((layers, 1))),
    }
    segments = of_text("token_type_ids", np.zeros_like(ids))
    x = embeddings(weights, config, ids, segments, within(tap, "embeddings"))
    states, all_probs = [x], []
    for index, layer in enumerate(weights["layers"]):

        def scaled(name, value, index=index):
            if name in strengths:
                by = strengths[name][index]
                value = value * (by if name == "mlp.post" else by[:, None, None])
            return tap(f"layer.{index}.{name}", value)

        x, probs = block(layer, config, x, visible[index], scaled)
        states.append(x)
        all_probs.append(probs)
    if config.pre_norm:
        x = layer_norm(x, *weights["final_norm"], config.layer_norm_eps)
        x = tap("final_norm", x)
    pooled = pooler(weights, x, within(tap, "pooler"))
    return {
        "hidden_states": np.stack(states),
        "attention_probs": np.stack(all_probs),
        "sequence_output": x,
        "pooled_output": pooled,
        "nsp_logits": tap("nsp.logits", dense(pooled, *weights["nsp"])),
        "class_logits": tap("classifier.logits", dense(pooled, *weights["classifier"])),
    }
