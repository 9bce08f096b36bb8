"""What the pictures of attention show, in words: which heads, which filters."""

from __future__ import annotations

import numpy as np

from bertviz_core.figures.attention_view import Measure
from pages.ui.attention.controls import METHODS, View, is_a_length
from pages.ui.language import listed, plain

_SIDES = {0: "first", 1: "second"}


def measure_of(view: View, values: np.ndarray) -> Measure:
    """Names what a picture shows.

    Args:
        view: what the reader asked for.
        values: float `[S, S]`, what is drawn.

    Returns:
        A measure whose scale ends at 1, for lengths and for what goes beyond 1 at the
        largest value.
    """
    is_length = is_a_length(view.method, view.options.renormalise)
    has_layer, has_head = METHODS[view.method]
    largest = float(values.max(initial=0))
    return Measure(
        name=_name(view),
        unit=plain(f"attention_view.unit_{_unit(view.method, is_length)}"),
        filters=_filters(view),
        top=(largest or 1.0) if is_length or largest > 1 else 1.0,
        has_layer=has_layer,
        has_head=has_head,
    )


def _unit(method: str, is_length: bool) -> str:
    if method == "norms":
        return "length" if is_length else "length_share"
    return "change_share" if method == "value_zeroing" else "weight"


def _name(view: View) -> str:
    template = plain(f"attention_view.shown_{view.method}")
    if view.method == "head":
        return template  # the numbers are filled in where it is shown
    heads = listed(f"{layer + 1}·{head + 1}" for layer, head in view.heads)
    return template.format(layer=view.layer + 1, heads=heads)


def _filters(view: View) -> tuple[str, ...]:
    options, said = view.options, []
    if options.merge_words:
        name = "filter_words_lengths" if view.method == "norms" else "filter_words"
        said.append(plain(f"attention_view.{name}"))
    if options.hide_special:
        said.append(plain("attention_view.filter_special"))
    if options.from_segment is not None:
        said.append(plain(f"attention_view.filter_from_{_SIDES[options.from_segment]}"))
    if options.to_segment is not None:
        said.append(plain(f"attention_view.filter_to_{_SIDES[options.to_segment]}"))
    is_cut = len(said) > options.merge_words  # words lose no weight
    if options.renormalise:
        said.append(plain("attention_view.filter_renormalised"))
    elif is_cut:
        said.append(plain("attention_view.filter_not_renormalised"))
    if options.least_weight > 0:
        said.append(plain("attention_view.filter_least", least=options.least_weight))
    if options.least_share > 0:
        said.append(
            plain("attention_view.filter_least_share", share=options.least_share)
        )
    if options.mass < 1:
        said.append(plain("attention_view.filter_mass", mass=options.mass))
    return tuple(said)
