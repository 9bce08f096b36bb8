"""The numbers of the picture of the whole model, held against NumPy on the trace."""

import numpy as np
import pytest

from bertviz_core.analysis.aggregation import follow_down
from bertviz_core.analysis.sampling import softmax
from bertviz_core.experiments.whole_model import (
    MOST_SHOWN,
    open_all,
    open_answer,
    open_embeddings,
    open_feed_forward,
    open_head,
    open_layer,
    open_part,
    remove_tokens,
    usual_focus,
    whole_model,
)
from bertviz_core.figures.whole_model import answer_payload, whole_model_payload
from bertviz_core.interventions import Interventions
from bertviz_core.weights import as_numpy
from tests.core.bundled import open_bundled
from tests.core.random_models import agree
from tests.payloads import unpacked

TEXTS = {
    "bert-mini-en": "The doctor gave the [MASK] some medicine because he was sick.",
    "bert-mini-zh": "他是一名[MASK]国足球运动员。",
}
LAYER, HEAD = 2, 1


class Asked:
    """A bundled model, its trace and what is told of it."""

    def __init__(self, name):
        self.explorer = open_bundled(name)
        self.trace = self.explorer.trace(TEXTS[name])
        self.picture = whole_model(self.explorer, self.trace)
        self.focus = usual_focus(self.trace.tokenized)

    def by_hand(self, layer):
        """A layer's state and activations, float64, from the weights alone."""
        block = self.explorer.loaded.model.blocks[layer]
        config, x = self.explorer.config, self.trace.hidden_states[layer].astype(float)

        def dense(part, x):
            return x @ as_numpy(part.kernel).astype(float) + as_numpy(part.bias)

        size = config.head_size
        query, key, value = (
            dense(part, x).reshape(len(x), -1, size).transpose(1, 0, 2)
            for part in (
                block.attention.query, block.attention.key, block.attention.value
            )
        )  # fmt: skip
        scores = query @ key.transpose(0, 2, 1)
        probs = np.stack(
            [[softmax(row) for row in head] for head in scores / size**0.5]
        )
        kernel = as_numpy(block.attention_output.kernel).astype(float)
        kernel = kernel.reshape(-1, size, len(kernel))
        parts = np.einsum("nqk,nkd,ndh->qkh", probs, value, kernel)
        return {"x": x, "query": query, "key": key, "value": value, "scores": scores,
                "probs": probs, "parts": parts}  # fmt: skip


@pytest.fixture(scope="module", params=TEXTS)
def asked(request):
    return Asked(request.param)


def test_shares_are_lengths_with_the_residual_and_add_up_to_1(asked):
    picture = asked.picture
    for layer in range(asked.explorer.config.num_hidden_layers):
        noted = asked.by_hand(layer)
        vectors = noted["parts"] + np.eye(len(noted["x"]))[..., None] * noted["x"]
        lengths = np.linalg.norm(vectors, axis=-1)
        agree(picture.shares[layer], lengths / lengths.sum(-1, keepdims=True), 1e-5)
    agree(picture.shares.sum(axis=-1), np.ones(picture.shares.shape[:2]), 1e-12)
    agree(picture.attention, asked.trace.attention_probs.mean(axis=1), 1e-6)


def test_the_focus_is_followed_down_by_products_of_the_shares(asked):
    shares, reached = asked.picture.shares, asked.picture.reached
    product = np.eye(shares.shape[-1])
    for layer in reversed(range(len(shares))):
        product = product @ shares[layer]
        agree(reached[layer], product[asked.focus], 1e-12)
    agree(reached.sum(axis=-1), np.ones(len(reached)), 1e-12)
    agree(
        asked.picture.looked, follow_down(asked.picture.attention, asked.focus), 1e-12
    )


def test_guesses_are_the_heads_own_at_every_height(asked):
    picture, states = asked.picture, asked.trace.hidden_states
    words = asked.explorer.vocabulary
    for level in (0, 3, len(states) - 1):
        logits = asked.explorer.forward.read("mlm", states[level])["output"]
        for token in range(len(logits)):
            probs = softmax(logits[token])
            best = np.argsort(-probs, kind="stable")[
                : len(picture.guesses[level][token])
            ]
            assert picture.guesses[level][token] == tuple(words[i] for i in best)
            agree(picture.guess_probs[level, token], probs[best], 1e-6)


def test_the_payload_brings_these_numbers(asked):
    payload = whole_model_payload(asked.picture, id="x")
    header, arrays = unpacked(payload)
    assert len(payload) < 150_000
    shape = asked.picture.shares.shape
    agree(arrays["shares"].reshape(shape), asked.picture.shares, 1e-7)
    agree(arrays["attention"].reshape(shape), asked.picture.attention, 1e-7)
    assert tuple(header["tokens"]) == asked.trace.tokenized.tokens
    level, place = shape[0], asked.focus
    start = (level * shape[1] + place) * header["numGuesses"]
    words = arrays["guess_words"][start : start + header["numGuesses"]]
    assert [header["guesses"][i] for i in words] == list(
        asked.picture.guesses[-1][place]
    )


def test_a_removed_token_is_cut_off_from_all_others_in_every_layer(asked):
    removed = remove_tokens(asked.explorer, asked.trace, asked.focus)
    size = asked.trace.tokenized.num_tokens
    assert [*removed.tokens] == [i for i in range(size) if i != asked.focus]
    assert not np.allclose(removed.moved, 0, atol=1e-3)

    def answer(edges):
        changed = Interventions(edge_mask=edges)
        text = asked.trace.tokenized.text
        trace = asked.explorer.trace(
            text, mlm_positions=[asked.focus], interventions=changed
        )
        return softmax(trace.mlm_logits[0])

    before = answer(np.ones((1, 1, size, size), "int32"))
    for token in (0, size - 1):
        edges = np.ones((1, 1, size, size), "int32")
        edges[..., token] = 0
        edges[0, 0, token, token] = 1
        after, place = answer(edges), [*removed.tokens].index(token)
        agree(removed.moved[place], abs(after - before).sum() / 2, 1e-5)


def test_opened_parts_show_what_the_layer_computes(asked):
    noted, focus = asked.by_hand(LAYER), asked.focus
    layer = open_layer(asked.explorer, asked.trace, LAYER, focus)
    agree(layer.weights, noted["probs"][:, focus], 1e-5)
    agree(layer.kept, np.linalg.norm(noted["x"][focus]), 1e-4)
    bias = as_numpy(asked.explorer.loaded.model.blocks[LAYER].attention_output.bias)
    update = noted["parts"][focus].sum(axis=0) + bias
    agree(layer.attention, np.linalg.norm(update), 1e-4)
    head = open_head(asked.explorer, asked.trace, LAYER, HEAD, focus)
    agree(head.query, noted["query"][HEAD, focus], 1e-4)
    agree(head.products, noted["scores"][HEAD, focus], 1e-3)
    size = asked.explorer.config.head_size
    agree(head.scores, noted["scores"][HEAD, focus] / size**0.5, 1e-4)
    agree(head.weights, noted["probs"][HEAD, focus], 1e-5)
    agree(head.output, noted["probs"][HEAD, focus] @ noted["value"][HEAD], 1e-4)
    half = open_feed_forward(asked.explorer, asked.trace, LAYER, focus)
    assert (half.attention, half.feed_forward) == (layer.attention, layer.feed_forward)
    assert len(half.words) == len(half.neurons)
    assert (np.diff(half.contributions) <= 0).all()


def test_the_foot_adds_up_to_what_enters(asked):
    found = open_embeddings(asked.explorer, asked.trace, asked.focus)
    agree(found["word"] + found["position"] + found["token_type"], found["sum"], 1e-6)
    agree(found["norm"], asked.trace.hidden_states[0][asked.focus], 1e-6)
    table = as_numpy(asked.explorer.loaded.model.embeddings.position_embeddings)
    agree(found["position"], table[asked.focus], 0)


def test_the_top_is_the_score_of_every_word(asked):
    logits = open_answer(asked.explorer, asked.trace, asked.focus)
    agree(logits, asked.trace.mlm_logits[0], 1e-5)
    payload = answer_payload(
        {"focus": 3}, {"logits": logits}, asked.explorer.vocabulary
    )
    header, arrays = unpacked(payload)
    agree(arrays["logits"], logits, 0)
    assert header["opened"]["words"][0] == asked.explorer.vocabulary[logits.argmax()]


def test_a_saved_file_holds_what_is_inside_of_every_part(asked):
    config, focus = asked.explorer.config, asked.focus
    found = open_all(asked.explorer, asked.trace, focus)
    num_heads = config.num_hidden_layers * config.num_attention_heads
    assert len(found) == 2 + 2 * config.num_hidden_layers + num_heads
    payload = whole_model_payload(asked.picture, found, asked.explorer.vocabulary)
    header, arrays = unpacked(payload)
    assert header["inside"].keys() == found.keys()
    head = open_head(asked.explorer, asked.trace, LAYER, HEAD, focus)
    name = f"layer.{LAYER}.head.{HEAD}"
    agree(arrays[f"{name}/weights"], head.weights, 0)
    agree(arrays[f"{name}/keys"], head.keys.ravel(), 0)
    half = open_feed_forward(asked.explorer, asked.trace, LAYER, focus)
    assert header["inside"][f"layer.{LAYER}.mlp"]["words"] == [*map(list, half.words)]
    logits = open_answer(asked.explorer, asked.trace, focus)
    agree(arrays["mlm.logits/logits"], logits, 0)
    best = asked.explorer.vocabulary[logits.argmax()]
    assert header["inside"]["mlm.logits"]["words"][0] == best
    for name in ("layer.99", f"layer.{LAYER}.edge.0.1", "pooler"):
        with pytest.raises(ValueError, match="Received: "):
            open_part(asked.explorer, asked.trace, name, focus)


def test_of_a_long_text_a_window_around_the_focus_is_followed_whole(asked):
    text = TEXTS[asked.explorer.model_id] * 12
    trace = asked.explorer.trace(text, cut=True)
    focus, size = 80, trace.tokenized.num_tokens
    assert size > MOST_SHOWN
    picture = whole_model(asked.explorer, trace, focus)
    assert picture.shares.shape[1:] == (MOST_SHOWN, MOST_SHOWN)
    assert picture.first <= focus < picture.first + MOST_SHOWN
    # With those outside, all adds up to 1; within, it is less.
    assert (picture.reached.sum(axis=-1)[:-1] < 1).all()
    last = whole_model(asked.explorer, trace, size - 1)
    assert last.first == size - MOST_SHOWN
