"""The losses of pre-training, piece by piece, and what makes it cheaper."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.experiments.text_objective import Objective, objective_of
from bertviz_core.experiments.training_costs import (
    BLOCKS_TOGETHER,
    NUM_BLOCKS,
    PASSED_BYTES,
    Cost,
    decoding_costs,
    remat_costs,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import named_bars_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.pretraining import (
    DROP_FORMULA,
    keep_rate_figure,
    objective_formulas,
)
from bertviz_core.snippets import pretraining as snippets
from bertviz_core.trace import Texts
from bertviz_core.training.schedule import DROP_SPEED, keep_rate, keep_rates
from pages.layers.wording import numbered
from pages.shared.answers import ask, ask_job
from pages.shared.choices import choose_named, choose_number
from pages.shared.export import show_figure
from pages.shared.language import plain, t, table
from pages.shared.panel import Program, panel, program

MAX_SEED = 9999


def choose_draw() -> tuple[float, int]:
    """Draws both choices: the share of the pieces that are drawn, and the seed."""
    first, second = st.columns([3, 1])
    rate = choose_number(first.slider, "objective.rate", 5, 60, 15, format="%d%%")
    seed = choose_number(second.number_input, "objective.seed", 0, MAX_SEED, 1)
    return rate / 100, seed


@panel
def show_objective(model: str, texts: Texts) -> None:
    """Draws the choices, the sum, and each piece with its loss."""
    st.markdown(t("objective.intro"))
    rate, seed = choose_draw()
    can_follow = bool(texts.pair) and "nsp" in ask(Explorer.info)(model).heads
    is_next = not can_follow or (
        choose_named("objective.truth", ("next", "other"), key="objective_is") == "next"
    )
    choices: dict[str, Any] = {"seed": seed, "rate": rate, "is_next": is_next}
    found = ask(objective_of)(model, texts.text, texts.pair, **choices)
    if not len(found.positions):
        st.info(t("objective.nothing_to_guess"), icon=":material/edit:")
        return
    for formula in objective_formulas(
        found.losses, found.num_places, found.nsp_loss, found.total
    ):
        st.latex(formula)
    st.caption(t("objective.places"))
    if not texts.pair:
        st.caption(t("objective.no_pair"))
    _show_pieces(found, program(snippets.OBJECTIVE, model, texts, **choices))


def _show_pieces(found: Objective, code: Program) -> None:
    losses, worst = found.losses, int(found.losses.argmax())
    all_names = numbered(found.tokens)
    names = [all_names[place] for place in found.positions.tolist()]
    fates = [plain(f"objective.fate_{fate}") for fate in found.fates]
    shown = list(found.shown)
    bars = [
        plain("objective.bar", piece=piece, fate=fate, shown=there)
        for piece, fate, there in zip(names, fates, shown, strict=True)
    ]
    described = t(
        "objective.described",
        count=len(names),
        worst=names[worst],
        loss=float(losses[worst]),
        share=percent(float(np.exp(-losses[worst]))),
    )
    if found.nsp_loss is not None:
        losses = np.append(losses, found.nsp_loss)
        for column in (bars, names):
            column.append(plain("objective.nsp"))
        for column in (fates, shown):
            column.append("")
    show_figure(
        named_bars_figure(bars, losses, title=plain("objective.loss")),
        name="objective_losses",
        description=described,
        columns={
            plain("objective.piece"): names,
            plain("objective.fate"): fates,
            plain("objective.shown"): shown,
            plain("objective.probability"): np.exp(-losses),
            plain("objective.loss"): losses,
        },
        code=code,
    )


_MEGABYTE = 1e6


@panel
def show_decoding(model: str, texts: Texts) -> None:
    """Draws the button, and what the decoder takes at some places and at all."""
    st.markdown(t("objective.decode_intro"))
    rate, seed = choose_draw()
    found = ask_job(
        "decoding_costs",
        t("objective.measure"),
        ask(decoding_costs).about(model, texts.text, texts.pair, seed=seed, rate=rate),
    )
    if found is None:
        return
    st.markdown(
        t(
            "objective.decoded",
            rows=found.num_rows,
            tokens=found.num_tokens,
            places=found.num_places,
            words=found.num_words,
        )
    )
    costs = {"gathered": found.gathered, "everywhere": found.everywhere}
    _show_costs("decoding_costs", "decode", costs)
    st.caption(t("objective.decoded_same", difference=found.difference))


@panel
def show_blocks_anew() -> None:
    """Draws the button, and what a gradient takes in each way."""
    sizes = {"count": NUM_BLOCKS, "together": BLOCKS_TOGETHER}
    st.markdown(t("objective.anew_intro", **sizes))
    found = ask_job("remat_costs", t("objective.measure"), ask(remat_costs).about())
    if found is None:
        return
    _show_costs("remat_costs", "anew", found)
    if (kept := found["kept"].num_bytes) is not None:
        times = kept / NUM_BLOCKS / PASSED_BYTES
        st.markdown(t("objective.anew_read", times=times, **sizes))


def _show_costs(name: str, kind: str, costs: Mapping[str, Cost]) -> None:
    """A table of all costs, and bars of the memory, or of the time where none is told.

    Args:
        name: of the figure.
        kind: with "_" and a name of `costs`, the key of its text.
        costs: by name, the first one what others are held against.
    """
    names = [plain(f"objective.{kind}_{way}") for way in costs]
    seconds = np.array([cost.seconds for cost in costs.values()])
    told = [cost.num_bytes for cost in costs.values() if cost.num_bytes is not None]
    columns = {plain("objective.milliseconds"): 1000 * seconds}
    if told:
        columns[plain("objective.megabytes")] = np.array(told) / _MEGABYTE
    rows = [
        [way, *(f"{numbers[index]:,.1f}" for numbers in columns.values())]
        for index, way in enumerate(names)
    ]
    st.markdown(table([plain("objective.way"), *columns], rows))
    title, shown = list(columns.items())[-1]
    most, least = int(shown.argmax()), int(shown.argmin())
    show_figure(
        named_bars_figure(names, shown, title=title),
        name=name,
        description=t(
            "objective.costs_described",
            most=names[most],
            least=names[least],
            times=float(shown[most] / shown[least]),
            measure=title,
        ),
        columns={plain("objective.way"): names}
        | {title: numbers.tolist() for title, numbers in columns.items()},
    )


_NUM_STEPS = 1000  # of the curve


@panel
def show_layer_drop() -> None:
    """Draws the sliders, the curve, and the blocks at the chosen moment."""
    st.markdown(t("objective.drop_intro"))
    st.latex(DROP_FORMULA)
    boxes: list[Any] = [box.slider for box in st.columns(4)]
    final = choose_number(
        boxes[0], "objective.drop_final", 0.05, 1.0, 0.5, key="drop_final", step=0.05
    )
    speed = choose_number(
        *(boxes[1], "objective.drop_speed", 1, 200, int(DROP_SPEED)),
        key="drop_speed",
        help=t("objective.drop_speed_help", speed=DROP_SPEED),
    )
    label, key = "objective.drop_layers", "drop_layers"
    num_layers = choose_number(boxes[2], label, 1, 24, 12, key=key)
    step = choose_number(
        *(boxes[3], "objective.drop_now", 0, _NUM_STEPS, _NUM_STEPS // 100),
        key="drop_now",
        help=t("objective.drop_now_help", count=_NUM_STEPS),
    )
    curve = [keep_rate(s, _NUM_STEPS, final, speed) for s in range(_NUM_STEPS + 1)]
    choices = {"final": final, "speed": speed, "num_layers": num_layers, "step": step}
    code = program(snippets.LAYER_DROP, num_steps=_NUM_STEPS, **choices)
    shares, share = np.linspace(0, 1, _NUM_STEPS + 1), step / _NUM_STEPS
    show_figure(
        keep_rate_figure(
            shares,
            np.array(curve),
            (share, curve[step]),
            x_title=plain("objective.drop_share"),
            y_title=plain("objective.drop_last"),
        ),
        name="drop_curve",
        description=t("objective.drop_described", share=share, rate=curve[step]),
        columns={
            plain("objective.drop_share"): shares.tolist(),
            plain("objective.drop_last"): curve,
        },
        code=code,
    )
    _show_blocks(keep_rates(num_layers, curve[step]))


def _show_blocks(rates: np.ndarray) -> None:
    names = [plain("objective.block", number=n) for n in range(1, len(rates) + 1)]
    title = plain("objective.drop_by_block")
    show_figure(
        named_bars_figure(names, rates, title=title, are_shares=True),
        name="drop_blocks",
        description=t(
            "objective.blocks_described",
            first=float(rates[0]),
            last=float(rates[-1]),
            kept=float(rates.sum()),
            count=len(rates),
        ),
        columns={plain("objective.block_column"): names, title: rates.tolist()},
    )
