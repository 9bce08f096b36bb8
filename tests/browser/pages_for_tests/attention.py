"""A page with the attention component alone; the address says which text it shows."""

import numpy as np
import streamlit as st

from bertviz_core.figures.attention_held import hold_heads
from bertviz_core.figures.attention_thumbnails import grid_thumbnails, strongest_links
from bertviz_core.figures.attention_view import (
    AttentionView,
    HeadMap,
    Measure,
    token_kinds,
)
from pages.attention.canvas import (
    Head,
    Look,
    attention_canvas,
    canvas_words,
    current_look,
    head_map,
    locked_tokens,
    overrule,
    take_click,
)
from pages.shared.language import choose_language

TEXTS = {
    "pair": [
        *("[CLS]", "the", "cat", "##s", "drink", "[MASK]", "[SEP]"),
        *("they", "are", "<b>", "happy", "[SEP]"),
    ],
    "chinese": ["[CLS]", *"猫喝了一杯", "[MASK]", *"今天天气很好。", "[SEP]"],
    "words": ["[CLS]", "今天", "天气", "好", "[SEP]"],
    "one": ["word"],
    "middle": ["[CLS]", *(f"word{index}" for index in range(126)), "[SEP]"],
    "long": ["[CLS]", *(f"word{index}" for index in range(510)), "[SEP]"],
}
SIZES = {"heads": (12, 12), "one_head": (1, 1)}


@st.cache_data(max_entries=4)
def example_probs(text, size):
    """Random weights [L, N, T, T] whose rows sum to one."""
    num_layers, num_heads = SIZES[size]
    num_tokens = len(TEXTS[text])
    shape = (num_layers, num_heads, num_tokens, num_tokens)
    scores = np.random.default_rng(7).standard_normal(shape, np.float32) * 2
    # Every head looks somewhere: a diagonal, more to the right from head to head.
    for head in range(num_heads):
        scores[:, head] += 4 * np.eye(num_tokens, k=head - 3)
    exponents = np.exp(scores - scores.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


@st.cache_data(max_entries=4)
def example_thumbnails(text, size, is_difference):
    """Made once for a text: a change of head needs no new ones."""
    return grid_thumbnails(shown_probs(text, size, is_difference), 32, is_difference)


@st.cache_resource(max_entries=4)
def example_held(text, size):
    return hold_heads(example_probs(text, size))


@st.cache_resource(max_entries=8)
def shown_probs(text, size, is_difference):
    """The weights, or their difference to those of the last head backwards."""
    probs = example_probs(text, size)
    return probs - probs[::-1, ::-1] if is_difference else probs


def shown_head(key: str, size: tuple[int, int], first: Head = (0, 0)) -> Head:
    """The head that the page shows: the one that was clicked last."""
    clicked = take_click(key, *size)
    if clicked is not None or f"{key}_shown" not in st.session_state:
        st.session_state[f"{key}_shown"] = clicked or first
    return st.session_state[f"{key}_shown"]


def choose() -> None:
    st.session_state["canvas_shown"] = (6, 4)
    overrule("canvas")


choose_language()
text = st.query_params.get("text", "pair")
size = st.query_params.get("size", "heads")
tokens = tuple(TEXTS[text])
is_difference = "difference" in st.query_params
probs = shown_probs(text, size, is_difference)
first = (0, 0)
if "forged" in st.query_params and "canvas" not in st.session_state:
    # As if the browser had held this text, and lost it.
    first, key = (2, 1), example_held(text, size).key
    forged = {"layer": 2, "head": 1, "turn": 3, "scale": "row", "holds": key}
    st.session_state["canvas"] = {"selection": forged}
layer, head = shown_head("canvas", SIZES[size], first)
locked = locked_tokens("canvas", len(tokens), text)
lying = Look(is_lying=text in ("chinese", "words"))
look = current_look("canvas", (layer, head), SIZES[size][1], lying)
lengths = Measure("lengths of layer {layer}", "length", ("a filter",), 8.0, True, False)
is_length = "lengths" in st.query_params
after_first_sep = np.arange(len(tokens)) > (
    tokens.index("[SEP]") if text == "pair" else 1e9
)
view = AttentionView(
    tokens,
    token_kinds(tokens),
    after_first_sep.astype(int),
    example_thumbnails(text, size, is_difference),
    probs[layer, head] * (8 if is_length else 1),
    canvas_words(),
    layer,
    head,
    None if is_length else strongest_links(probs[layer]),
    *locked,
    is_difference=is_difference,
    scale=look.scale,
    threshold=look.threshold,
    is_lying=look.is_lying,
    heads=look.heads,
    measure=lengths if is_length else None,
    held=None if is_difference else example_held(text, size),
    groups=np.cumsum([not token.startswith("##") for token in tokens]),
    text_key=text,
)
st.title(tokens[0])
st.button("Choose", on_click=choose)
attention_canvas(view, "canvas")
st.session_state.runs = st.session_state.get("runs", 0) + 1
ends = "from_token={}, to_token={}".format(*locked_tokens("canvas", len(tokens), text))
st.text(f"Selection(layer={layer}, head={head}, {ends}) run {st.session_state.runs}")
st.text(str(look))
if "map" in st.query_params:
    values = np.random.default_rng(3).normal(0, 0.1, SIZES[size])
    place = shown_head("map", SIZES[size])
    words = {**canvas_words(), "map_title": "One number for each head"}
    head_map(HeadMap(values, words, *place), "map")
    st.text("Selection(layer={}, head={})".format(*place))
