"""Step 5, second part: the model, and its heads, before and after it was trained."""

import functools
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.shown_attention import AttentionOptions
from bertviz_core.engine.finetune_tasks import report_rows, training_outcome
from bertviz_core.engine.finetuned_tasks import compare_layers, weight_change
from bertviz_core.experiments.after_training import LayerComparison, WeightChange
from bertviz_core.experiments.attention_matrix import compare_heads
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import named_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.point_map import Colour, FirstChoice, PointMap
from bertviz_core.training.finetune.notes import excerpt
from bertviz_core.training.finetune.request import RunOutcome
from pages.attention.canvas import View
from pages.attention.causes import place_of, show_clickable
from pages.attention.comparison import show_matrix
from pages.fine_tune.state import FineTuneState, offer_step
from pages.fine_tune.widgets import choose_panel, row_texts, type_texts
from pages.shared.answers import ask, ask_job, is_short
from pages.shared.choices import choose_named, switch_linked
from pages.shared.components import save_drawn
from pages.shared.export import show_curves, show_figure, show_map
from pages.shared.language import Markdown, plain, t
from pages.shared.own_text import Reading
from pages.shared.panel import panel, show_number_tools
from pages.shared.point_map import groups_colour, point_map

_MOST_CHARACTERS = 1000


def _show_heads(base: str, outcome: RunOutcome) -> None:
    """Draws the change of every head, and the difference of the one that is chosen."""
    labels = {"ft_compare_text": "results.heads_text"}
    if outcome.has_pairs:
        labels["ft_compare_pair"] = "results.try_pair"
    first = row_texts(outcome, 0, _MOST_CHARACTERS)  # one that was set aside
    texts = type_texts(st.text_input, labels, first, _MOST_CHARACTERS)
    if texts is None:
        st.info(t("results.try_empty"), icon=":material/edit:")
        return
    changes = ask(compare_heads)(base, texts, outcome.model_id, texts)
    if not changes.any():
        st.info(t("results.heads_still"), icon=":material/ac_unit:")
        return
    most = place_of(changes, int(changes.argmax()))
    key = f"ft_compare_head_{changes.shape}"
    layer, head = st.session_state.get(key, (most["layer"] - 1, most["head"] - 1))

    def choose(*chosen: int) -> None:
        st.session_state[key] = chosen

    show_clickable(
        changes,
        "differs",
        plain("attention.share_elsewhere"),
        t("results.heads_described", **most),
        (layer, head),
        on_head=choose,
    )
    read = ask(Explorer.tokenize)(base, texts.text, texts.pair, cut=True)
    before, after = (Reading(model, texts, read) for model in (base, outcome.model_id))
    view = View("head", layer, head, AttentionOptions())
    title = plain("results.after_less_before")
    show_matrix(before, after, view, title, choose)


PANELS = ("weights", "probes", "points", "heads")
READINGS = ("cls", "mean")
_USUAL_ROWS, _USUAL_TOKENS = 1200, 40  # of both models together
_TURNS = ("before", "after")
_POINTS = "ft_compare_points"


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    st.header(t("results.compare_title"), anchor=False)
    if state.status is not None:
        base = state.status.request.model
        st.markdown(t("results.compare_intro", model=base))
        _compare(state.run_id, base)
    offer_step("take", "compared")


@panel
def _compare(run: str, base: str) -> None:
    label = "results.compare_panel"
    opened = choose_panel(label, PANELS, "ft_compare_panel")
    st.markdown(t(f"results.{opened}_intro"))
    if opened == "weights":
        _show_weights(ask(weight_change)(run))
        return
    outcome = ask(training_outcome)(run)
    if opened == "heads":
        _show_heads(base, outcome)
        return
    found = _ask_layers(outcome)
    if found is not None and opened == "probes":
        _show_probes(found)
    elif found is not None:
        _show_points(found, run)


def _show_weights(found: WeightChange) -> None:
    names = [_layer_name(layer) for layer in found.layers]
    totals, moved = np.nan_to_num(found.totals), plain("results.moved")
    most = int(totals.argmax())
    described = t("results.weights_still")
    if totals.any():
        described = t(
            "results.weights_described",
            layer=names[most],
            share=Markdown(percent(float(totals[most]))),
            still=int((totals == 0).sum()),
            count=len(totals),
        )
    show_figure(
        named_bars_figure(names, found.totals, title=moved, are_shares=True),
        name="ft_compare_weights",
        description=described,
        columns={"results.part_of_model": names, moved: found.totals},
    )
    if totals.any() and switch_linked("results.show_parts", key="ft_compare_parts"):
        _show_parts(found, names)


def _layer_name(layer: str) -> str:
    if layer.startswith("layer_"):
        return _state_name(int(layer.removeprefix("layer_")) + 1)
    return plain(f"results.part_{layer}")


def _show_parts(found: WeightChange, names: list[str]) -> None:
    parts = [plain(f"results.part_{part}") for part in found.parts]
    known = np.nan_to_num(found.shares)
    row, column = np.unravel_index(int(known.argmax()), known.shape)
    places = {"layer": names[int(row)], "part": parts[int(column)]}
    share = Markdown(percent(float(known[row, column])))
    show_map(
        "ft_compare_weight_parts",
        found.shares,
        names,
        parts,
        ("results.moved", "", ""),
        t("results.parts_described", **places, share=share),
        table={
            "results.part_of_model": names,
            **dict(zip(parts, found.shares.T, strict=True)),
        },
    )


def _ask_layers(outcome: RunOutcome) -> LayerComparison | None:
    reading = choose_named(
        "results.reading", READINGS, "reading", key="ft_compare_reading"
    )
    return ask_job(
        "ft_compare_layers",
        "results.compare_rows",
        ask(compare_layers).about(outcome.run_id, reading),
        at_once=is_short(outcome.model_id, _USUAL_ROWS, _USUAL_TOKENS),
    )


def _show_probes(found: LayerComparison) -> None:
    before, after = found.scores[:, -1].tolist()
    measure = "probe_r2" if found.is_regression else "probe_accuracy"
    places = {"fitted": found.num_fitted, "judged": len(found.rows)}
    _show_scores(
        found,
        found.scores,
        measure,
        name="ft_compare_probes",
        description=t("results.probes_described", before=before, after=after, **places),
        intervals=_by_turn(found.score_intervals),
    )
    if np.isnan(found.separations).all():
        return
    st.markdown(t("results.separation_intro"))
    before, after = np.nan_to_num(found.separations[:, -1]).tolist()
    _show_scores(
        found,
        found.separations,
        "separation",
        name="ft_compare_separations",
        description=t("results.separation_described", before=before, after=after),
    )


def _show_scores(
    found: LayerComparison, scores: np.ndarray, measure: str, **figure: Any
) -> None:
    """A score of every layer before and after; of classes, what the commonest gets."""
    states = [_state_name(state) for state in range(scores.shape[1])]
    lines = _by_turn(scores)
    if not found.is_regression:
        lines[plain("results.least")] = np.full(len(states), found.least)
    show_curves(lines, "results.figure_layer", states, f"results.{measure}", **figure)


def _by_turn(values: np.ndarray) -> dict[str, np.ndarray]:
    """Before and after, by what these are called."""
    names = (plain(f"results.figure_{turn}") for turn in _TURNS)
    return dict(zip(names, values, strict=True))


def _show_points(found: LayerComparison, run: str) -> None:
    """Draws the rows at each layer, before and after, on the same axes."""
    texts = [row.text for row in ask(report_rows)(run, tuple(found.rows.tolist()))]
    title = plain("results.label")
    if found.is_regression:
        labels = [f"{target:.6g}" for target in found.targets.tolist()]
        colour = Colour(title, found.targets)
    else:
        labels = [found.labels[int(target)] for target in found.targets]
        colour = groups_colour(title, labels)
    every = found.coordinates.swapaxes(0, 1)  # by layer, in each before and after
    states = [(layer, turn) for layer in range(len(every)) for turn in range(2)]
    chosen = point_map(
        PointMap(
            labels=tuple(map(excerpt, texts)),
            coordinates=every.reshape(len(states), len(texts), 2),
            colours=(colour,),
            state_names=tuple(
                f"{_state_name(layer)} · {plain(f'results.figure_{turn}')}"
                for layer in range(len(every))
                for turn in _TURNS
            ),
            notes=tuple(_worth(found, *state) for state in states),
            first=FirstChoice(state=len(states) - 1),
            title=plain("results.panel_points"),
        ),
        _POINTS,
    )
    st.caption(t("results.same_axes"))
    layer, turn = states[chosen.state]
    columns = {"results.text": texts, "results.label": labels}
    columns |= dict(zip("xy", found.coordinates[turn, layer].T.tolist(), strict=True))

    told = t("point_map.as_table")
    save = functools.partial(save_drawn, _POINTS)
    show_number_tools(_POINTS, lambda: columns, told, files=save)


def _worth(found: LayerComparison, layer: int, turn: int) -> str:
    separation = found.separations[turn, layer]
    key = "points_described" if np.isnan(separation) else "points_separation"
    return plain(
        f"results.{key}",
        count=len(found.rows),
        explained=float(found.explained[turn, layer]),
        separation=float(np.nan_to_num(separation)),
    )


def _state_name(layer: int) -> str:
    if layer == 0:
        return plain("results.figure_embeddings")
    return plain("results.layer_number", number=layer)
