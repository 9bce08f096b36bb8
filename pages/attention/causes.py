"""What heads, layers and states do for one answer: switched off, patched, cut away."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.correlation import spearman
from bertviz_core.experiments.ablation import ablate_heads, ablate_parts
from bertviz_core.experiments.attention_matrix import attention_mass
from bertviz_core.experiments.cause_results import (
    ABLATED_PARTS,
    Edge,
    PatchingMap,
    SparsePattern,
    Switches,
)
from bertviz_core.experiments.gradients import estimate_heads
from bertviz_core.experiments.patching import patch_hidden_states
from bertviz_core.experiments.sparsity import predict_sparsely
from bertviz_core.experiments.switching import switch_off
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_export import attention_html
from bertviz_core.figures.attention_view import HeadMap
from bertviz_core.snippets import attention as programs
from pages.attention.canvas import (
    Head,
    View,
    canvas_words,
    choose_heads,
    grid_of,
    select_head,
    take_click,
)
from pages.attention.canvas import head_map as clickable_map
from pages.attention.pictures import choose_pair
from pages.shared.answers import ask, ask_job, ask_soon
from pages.shared.choices import (
    choose_linked,
    choose_named,
    choose_number,
    choose_several,
    switch_linked,
)
from pages.shared.components import save_drawn
from pages.shared.export import cell_columns, show_below, show_map
from pages.shared.language import Markdown, current_language, in_a_row, plain, spoken, t
from pages.shared.own_text import Reading, type_other, with_a_word_changed
from pages.shared.panel import Program, panel, program, show_numbers
from pages.shared.watched_answer import Watched, choose_contrast, show_before_and_after

_SIGNED = ("exact", "estimate")  # kinds of maps with negative numbers
_CHOSEN = "attention_chosen_in_map"
_SMALLEST_SHARE = 0.5  # of what a state brings back; below it none is pointed out


def place_of(values: np.ndarray, place: int) -> dict[str, Any]:
    """Where a number of `[L, N]` stands, and the number, for a sentence."""
    layer, head = map(int, np.unravel_index(place, values.shape))
    value = float(values[layer, head])
    return {"layer": layer + 1, "head": head + 1, "value": value, "share": value}


@panel
def explore_maps(read: Reading, watched: Watched, view: View) -> None:
    """Draws the map of causes beside the map of attention."""
    mass = ask(attention_mass)(*read.asked, watched.target.position)
    kind = choose_named("attention.map_kind", ("heads", "parts"), "map")
    layers, heads = grid_of(read.model)
    # Half of the layers for every pass.
    passes = layers / 2 * (len(ABLATED_PARTS) if kind == "parts" else heads)
    asked = (read.model, read.texts.text, watched.target, read.texts.pair)
    if kind == "parts":
        parts = ask_soon(
            "attention_ablate_parts",
            ask(ablate_parts).about(*asked),
            passes,
            read.tokenized.num_tokens,
            t("attention.compute_parts", count=layers),
        )
        if parts is not None:
            code = program(programs.PART_MAP, *read.asked, **watched.literals)
            _show_parts(parts.deltas, watched, code)
        return
    st.markdown(t("attention.maps_intro", word=watched.name))
    exact = ask_soon(
        "attention_ablate_heads",
        ask(ablate_heads).about(*asked),
        passes,
        read.tokenized.num_tokens,
        t("attention.compute_map", count=layers * heads),
    )
    first, second = st.columns(2)
    with st.container():  # under the maps, which need not wait for it
        gradient = ask_job(
            "attention_estimate",
            "attention.compute_estimate",
            ask(estimate_heads).about(*asked),
            at_once=True,
        )
    framed, said = (view.layer, view.head), {}
    if exact is not None and gradient is not None:
        said = {
            # Do heads that look more also matter more, whatever the sign?
            "mass": said_correlation(spearman(np.abs(exact.deltas), mass)),
            "gradient": said_correlation(spearman(exact.deltas, gradient)),
        }
    marked = {name: Markdown(one) for name, one in said.items()}
    saved = t("attention.agreement_saved", **marked) if said else ""
    with first:
        if exact is not None:
            _show_heads(exact.deltas, watched, "exact", framed, saved)
        elif gradient is not None:
            _show_heads(gradient, watched, "estimate", framed, saved)
    with second:
        title = plain("attention.mass_short")
        most = place_of(mass, int(mass.argmax()))
        token = read.tokenized.tokens[watched.target.position]
        told = t("attention.map_described_mass", token=token, **most)
        code = program(programs.HEAD_MAP, *read.asked, **watched.literals)
        show_clickable(mass, "mass", title, told, framed, saved, code)
    if said:
        # The correlations of exact changes with attention and with the estimate.
        show_numbers({f"attention.agreement_{name}": said[name] for name in said})
        st.caption(t("attention.agreement_lesson"))


def said_correlation(value: float | None) -> str:
    """A rank correlation, or that there was no order to compare."""
    shown = {} if value is None else {"value": value}
    return t(f"attention.{'correlation' if shown else 'no_order'}", **shown)


def _show_heads(
    values: np.ndarray, watched: Watched, kind: str, framed: Head, saved: str
) -> None:
    # A number has no better side, an estimate helps nobody: the largest change counts.
    is_help = kind == "exact" and not watched.is_number
    helps = is_help and values.min() < 0
    place = place_of(values, int(values.argmin() if helps else abs(values).argmax()))
    change = place["value"] * (1 if watched.is_number else 100)
    key = f"attention.map_described_{kind}{'_no_help' if is_help and not helps else ''}"
    told = t(_of(key, watched), word=watched.name, change=change, **place)
    title = plain(_of("attention.delta_short", watched))
    show_clickable(values, kind, title, told, framed, saved)


def _of(key: str, watched: Watched) -> str:
    """The text for a number where the model says one, else for a probability."""
    return f"{key}_number" if watched.is_number else key


def look_at_head(layer: int, head: int) -> None:
    """Has the pictures above show a head, in a fragment that draws a clickable map."""
    select_head(layer, head)
    st.session_state[_CHOSEN] = True


def show_clickable(
    values: np.ndarray,
    kind: str,
    title: str,
    description: str,
    framed: Head,
    saved: str = "",
    code: Program | None = None,
    top: float = 1.0,
    on_head: Callable[[int, int], None] = look_at_head,
) -> None:
    """Draws a map whose cells choose the head that the pictures above show.

    Call it inside a fragment: it runs the page again after a click. `values` are float
    `[L, N]`, none below 0 but for `kind` in `_SIGNED`, and `top` is where their scale
    ends; `framed` is the head that the pictures show, `saved` what the page says
    elsewhere of the map and its files have to say, too. `on_head` chooses a head.
    """
    key = f"attention_map_{kind}"
    # A comparison has the heads of both models: a smaller one may lack this one.
    is_there = framed[0] < values.shape[0] and framed[1] < values.shape[1]
    file = plain("attention.file_map_png", name=key)
    shown = HeadMap(
        values,
        {
            **canvas_words(),
            "map_title": plain(f"attention.map_title_{kind}"),
            "legend_map": title,
            "png_file": file,
        },
        framed[0] if is_there else None,
        framed[1] if is_there else None,
        is_difference=kind in _SIGNED,
        top=top,
        is_distance=kind == "distance",
    )

    def follow() -> None:
        if (clicked := take_click(key, *values.shape)) is not None:
            on_head(*clicked)

    clickable_map(shown, key, follow)
    layers, heads = (range(1, size + 1) for size in values.shape)
    titles = title, "attention.layer", "attention.head"
    told = spoken(in_a_row((description, saved)))
    show_below(
        name=key,
        description=description,
        columns=lambda: cell_columns(values, layers, heads, titles),
        html=lambda: attention_html(
            shown, shown.words["map_title"], current_language(), description=told
        ),
        code=code,
        also=functools.partial(save_drawn, key),
    )
    if st.session_state.pop(_CHOSEN, False):
        st.rerun()  # the pictures above show another head now


def _show_parts(values: np.ndarray, watched: Watched, code: Program) -> None:
    layers = range(1, len(values) + 1)
    names = [plain(f"attention.part_{name}") for name in ("attention", "ffn", "both")]
    show_map(
        "attention_map_parts",
        values,
        layers,
        names,
        (_of("attention.delta_short", watched), "attention.layer", "attention.part"),
        t(_of("attention.map_described_parts", watched), word=watched.name),
        table={"attention.layer": layers, **dict(zip(names, values.T, strict=True))},
        code=code,
        is_signed=True,
    )


@panel
def explore_patches(read: Reading, watched: Watched) -> None:
    """Draws a box for the other sentence, and the map of what each state brings."""
    model, texts = read.asked
    st.markdown(t("attention.patch_intro", word=watched.name))
    offered = with_a_word_changed(model, texts.text)
    other = type_other("attention.patch_other", offered, "attention_other")
    contrast = choose_contrast(model, texts, watched)
    if not other:
        st.info(t("attention.patch_empty"), icon=":material/edit:")
        return
    target = watched.target
    changed = ask(Explorer.tokenize)(model, other, texts.pair, cut=True)
    is_word = target.head == "mlm" and target.position < changed.num_tokens
    if is_word and target.position not in changed.mask_positions:
        said = t("attention.patch_no_mask", token=changed.tokens[target.position])
        st.warning(said, icon=":material/visibility:")
    minus = None if contrast is None else contrast.target.index
    result = ask_job(
        "attention_patch",
        "attention.patch_start",
        ask(patch_hidden_states).about(
            model,
            clean=texts.text,
            corrupted=other,
            target=target,
            minus=minus,
            pair=texts.pair,
        ),
    )
    if result is not None:
        of = {**watched.literals, "other": other, "minus": minus}
        code = program(programs.PATCHED, model, texts, **of)
        _show_patches(result, watched, contrast, code)


def _show_patches(
    result: PatchingMap, watched: Watched, contrast: Watched | None, code: Program
) -> None:
    recovered = result.recovered
    pairs = zip(result.clean.tokens, result.corrupted.tokens, strict=True)
    tokens = [one if one == other else f"{other} ← {one}" for one, other in pairs]
    rows = [plain("attention.input_row"), *map(str, range(1, len(recovered)))]
    share, best = _strongest_between(recovered, rows, tokens)
    held_against = {} if contrast is None else {"other": contrast.name}
    show_map(
        "attention_patch",
        recovered,
        rows,
        tokens,
        ("attention.recovered", "attention.after_layer", "attention.token"),
        t(
            f"attention.patch_described{'_contrast' if held_against else ''}",
            word=watched.name,
            best=best,
            clean=result.clean_score,
            corrupted=result.corrupted_score,
            **held_against,
        ),
        code=code,
        is_signed=True,
        digits=3,
    )
    if share < _SMALLEST_SHARE:
        st.caption(t("attention.patch_spread"))


def _strongest_between(
    recovered: np.ndarray, rows: list[str], tokens: list[str]
) -> tuple[float, Markdown]:
    """What the best state brings back, and the sentence about it.

    A changed token's embedding, and the last state of the token that is read, bring
    everything back by themselves: what is to be found lies between.
    """
    between = recovered[1:-1]
    if not between.size:
        return 1.0, Markdown(t("attention.patch_none_between"))
    layer, token = np.unravel_index(np.argmax(between), between.shape)
    share, row = float(between[layer, token]), rows[int(layer) + 1]
    said = t("attention.patch_best", row=row, token=tokens[int(token)], share=share)
    return share, Markdown(said)


# What of a layer is switched off.
_PARTS = ("off_whole", "off_layers", "off_feed_forward")
_SMALLEST = 0.005  # half a point: nobody would see it in the bars
_DOT = "•"  # an arrow that is left, for colour alone says nothing to some
_MOST_DRAWN = 64  # tokens on a side of the pattern's picture
# Of a sparse pattern: the least, the most and the usual number.
_PATTERN = {
    "window": (0, 64, 2),
    "stride": (0, 64, 0),
    "num_global": (0, 16, 1),
    "block": (1, 32, 1),
}


@panel
def explore_switches(read: Reading, watched: Watched, view: View) -> None:
    """Draws the switches and the prediction before and after."""
    model, texts = read.asked
    st.markdown(t("attention.switch_intro"))
    switches = _choose_switches(read, view)
    result = ask(switch_off)(model, texts.text, watched.target, switches, texts.pair)
    code = program(
        programs.SWITCHED_OFF,
        model,
        texts,
        heads=switches.heads,
        attention=switches.attention,
        feed_forward=switches.feed_forward,
        edges=tuple(dataclasses.astuple(edge) for edge in switches.edges),
        **watched.literals,
    )
    show_before_and_after(result, model, watched, "attention_switched_off", code)
    if switches == Switches():
        st.info(t("attention.nothing_off"), icon=":material/toggle_on:")
    elif result.before.is_number:
        change = result.after.value - result.before.value
        st.caption(t("attention.number_moved", change=change))
    else:
        change = result.delta_probability
        key = "large_fall" if change < 0 else "large_rise"
        key = "small_change" if abs(change) < _SMALLEST else key
        st.caption(t(f"attention.{key}", points=100 * abs(change)))


def _choose_switches(read: Reading, view: View) -> Switches:
    heads = choose_heads(read.model, "attention_off_heads", ((view.layer, view.head),))
    layers = [str(layer + 1) for layer in range(grid_of(read.model)[0])]
    chosen = (
        choose_several(f"attention.{name}", layers, widget=box.pills, wrap=True)
        for box, name in zip(st.columns(len(_PARTS)), _PARTS, strict=True)
    )
    whole, attention, feed_forward = ({int(n) - 1 for n in one} for one in chosen)
    st.caption(t("attention.off_left"))
    return Switches(
        heads=heads,
        attention=tuple(sorted(whole | attention)),
        feed_forward=tuple(sorted(whole | feed_forward)),
        edges=_choose_edges(read, view),
    )


def _choose_edges(read: Reading, view: View) -> tuple[Edge, ...]:
    if not switch_linked("attention.cut_edge"):
        return ()
    row, column = choose_pair(read, view, "edge_to")
    st.caption(t("attention.edge_help"))
    layer, head = view.layer, view.head
    places = {"layer": layer + 1, "head": head + 1}
    names = {
        name: plain(f"attention.edge_{name}", **places)
        for name in ("everywhere", "layer", "head")
    }
    place = choose_linked(st.segmented_control, "attention.cut_edge_where", names)
    in_layer = None if place == "everywhere" else layer
    return (Edge(row, column, in_layer, head if place == "head" else None),)


@panel
def explore_patterns(read: Reading, watched: Watched, view: View) -> None:
    """Draws the settings of a sparse pattern, and the prediction under it."""
    model, texts = read.asked
    st.markdown(t("attention.sparse_intro"))
    chosen = {}
    for box, name in zip(st.columns(len(_PATTERN)), _PATTERN, strict=True):
        chosen[name] = choose_number(
            box.number_input, f"attention.sparse_{name}", *_PATTERN[name]
        )
    pattern = SparsePattern(**chosen)
    asked = (model, texts.text, watched.target, pattern)
    result = ask(predict_sparsely)(*asked, pair=texts.pair)
    show_before_and_after(result, model, watched, "attention_sparse_answer")
    first, second = st.columns(2)
    with first:
        show_map(
            "attention_sparse_edges",
            result.edges,
            read.tokenized.tokens,
            read.tokenized.tokens,
            ("attention.may_look", "attention.from_token", "attention.to_token"),
            t("attention.edges_described", share=result.kept_share),
            most=_MOST_DRAWN,
            digits=0,
            marks=np.where(result.edges, _DOT, "")[:_MOST_DRAWN, :_MOST_DRAWN].tolist(),
        )
    with second:
        show_clickable(
            result.cut_mass,
            "cut",
            plain("attention.cut_mass"),
            t("attention.cut_mass_described", share=float(result.cut_mass.mean())),
            (view.layer, view.head),
        )
