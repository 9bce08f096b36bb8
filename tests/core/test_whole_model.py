"""The numbers of the picture of the whole model, held against NumPy on the trace."""

import dataclasses

import numpy as np
import pytest

from bertviz_core.analysis.aggregation import follow_down
from bertviz_core.analysis.sampling import softmax
from bertviz_core.experiments.whole_model import (
    WholeModel,
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
from tests.core import oracle
from tests.core.bundled import open_bundled
from tests.core.random_models import agree
from tests.core.traced_models import CASES, Traced, traced
from tests.payloads import unpacked

TEXT, LAYER, HEAD = "the [MASK] sat on a mat", 2, 1


@dataclasses.dataclass(frozen=True)
class Asked(Traced):
    """A text, the model that reads it, and what is told of them."""

    picture: WholeModel
    focus: int


@pytest.fixture(scope="module", params=CASES)
def asked(request):
    case = traced(request.param, TEXT)
    picture = whole_model(case.explorer, case.trace)
    return Asked(**vars(case), picture=picture, focus=usual_focus(picture.tokenized))


def test_shares_are_lengths_with_the_residual_and_add_up_to_1(asked):
    picture = asked.picture
    for layer in range(asked.config.num_hidden_layers):
        vectors = asked.parts(layer).sum(axis=0)
        vectors += np.eye(len(vectors))[..., None] * asked.trace.hidden_states[layer]
        lengths = np.linalg.norm(vectors, axis=-1)
        agree(picture.shares[layer], lengths / lengths.sum(-1, keepdims=True), 1e-6)
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
    picture, words = asked.picture, asked.explorer.vocabulary
    for level, states in enumerate(asked.trace.hidden_states):
        for token, state in enumerate(asked.last_norm(states.astype(float))):
            probs = softmax(oracle.mlm(asked.weights, asked.config, state))
            best = np.argsort(-probs, kind="stable")[
                : len(picture.guesses[level][token])
            ]
            assert picture.guesses[level][token] == tuple(words[i] for i in best)
            agree(picture.guess_probs[level, token], probs[best], 1e-6)


def test_the_payload_brings_these_numbers(asked):
    payload = whole_model_payload(asked.picture, id="x")
    header, arrays = unpacked(payload)
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
    focus, noted = asked.focus, asked.steps(LAYER)
    query, key, value, scores, probs = (
        noted[f"attention.{name}"]
        for name in ("query", "key", "value", "masked_scores", "probs")
    )
    layer = open_layer(asked.explorer, asked.trace, LAYER, focus)
    agree(layer["weights"], probs[:, focus], 1e-6)
    agree(layer["norms"], np.linalg.norm(asked.parts(LAYER)[:, focus], axis=-1), 1e-6)
    agree(layer["kept"], np.linalg.norm(noted["input"][focus]), 1e-5)
    for name, half in (("attention", "attention"), ("feed_forward", "mlp")):
        agree(layer[name], np.linalg.norm(noted[f"{half}.output"][focus]), 1e-5)
    head = open_head(asked.explorer, asked.trace, LAYER, HEAD, focus)
    agree(head["query"], query[HEAD, focus], 2e-6)
    agree(head["products"], key[HEAD] @ query[HEAD, focus], 1e-5)
    # Those that are hidden are near -10,000.
    np.testing.assert_allclose(head["scores"], scores[HEAD, focus], 1e-6, 2e-6)
    agree(head["weights"], probs[HEAD, focus], 1e-6)
    agree(head["output"], probs[HEAD, focus] @ value[HEAD], 2e-6)
    half = open_feed_forward(asked.explorer, asked.trace, LAYER, focus)
    assert all(half[name] == layer[name] for name in ("attention", "feed_forward"))
    assert len(half["words"]) == len(half["neurons"])
    assert (np.diff(half["contributions"]) <= 0).all()


def test_the_foot_adds_up_to_what_enters(asked):
    found = open_embeddings(asked.explorer, asked.trace, asked.focus)
    agree(found["word"] + found["position"] + found["token_type"], found["sum"], 1e-6)
    agree(found["norm"], asked.trace.hidden_states[0][asked.focus], 1e-6)
    agree(found["position"], asked.weights["positions"][asked.focus], 1e-6)


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
    agree(arrays[f"{name}/weights"], head["weights"], 0)
    agree(arrays[f"{name}/keys"], head["keys"].ravel(), 0)
    half = open_feed_forward(asked.explorer, asked.trace, LAYER, focus)
    words = header["inside"][f"layer.{LAYER}.mlp"]["words"]
    assert words == [*map(list, half["words"])]
    logits = open_answer(asked.explorer, asked.trace, focus)
    agree(arrays["mlm.logits/logits"], logits, 0)
    best = asked.explorer.vocabulary[logits.argmax()]
    assert header["inside"]["mlm.logits"]["words"][0] == best
    for name in ("layer.99", f"layer.{LAYER}.edge.0.1", "pooler"):
        with pytest.raises(ValueError, match="Received: "):
            open_part(asked.explorer, asked.trace, name, focus)


def test_of_a_long_text_a_window_around_the_focus_is_followed_whole(asked, monkeypatch):
    monkeypatch.setattr("bertviz_core.experiments.whole_model.MOST_SHOWN", 4)
    trace, focus = asked.trace, 3
    size = trace.tokenized.num_tokens
    whole, picture = asked.picture, whole_model(asked.explorer, trace, focus)
    assert picture.first == 1
    seen = slice(1, 5)
    agree(picture.shares, whole.shares[:, seen, seen], 1e-12)
    # With those outside, all adds up to 1; within, it is less.
    assert (picture.reached.sum(axis=-1)[:-1] < 1).all()
    assert picture.guesses == tuple(level[seen] for level in whole.guesses)
    assert whole_model(asked.explorer, trace, size - 1).first == size - 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bert-mini-en", "The doctor gave the [MASK] some medicine, as he was sick."),
        ("bert-mini-zh", "他是一名[MASK]国足球运动员。"),
    ],
)
def test_of_a_bundled_model_a_page_gets_less_than_150_kb(name, text):
    explorer = open_bundled(name)
    picture = whole_model(explorer, explorer.trace(text))
    assert len(whole_model_payload(picture, id="x")) < 150_000
