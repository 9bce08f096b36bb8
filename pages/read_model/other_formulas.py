"""Other formulas on the real model: the other order of norms, and wrong ones."""

import streamlit as st

from bertviz_core.experiments.norm_orders import spread_in_both_orders
from bertviz_core.experiments.primer import both_orders_of_a_block
from bertviz_core.experiments.read_model_results import FormulaEffect, HeldOut
from bertviz_core.experiments.step_table import describe, layer_operations
from bertviz_core.experiments.wrong_formulas import (
    NUM_SENTENCES,
    effect_of_formula,
    formulas_of,
    held_out_with,
    wrong_in,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import percent
from bertviz_core.snippets import read_model as snippets
from bertviz_core.trace import Texts, TokenizedText
from pages.layers.norms import compare_orders
from pages.layers.walk import show_lines
from pages.layers.wording import numbered
from pages.shared.answers import ask, ask_soon
from pages.shared.choices import choose_named
from pages.shared.export import show_curves
from pages.shared.language import Markdown, plain, t, table
from pages.shared.models import language_of
from pages.shared.own_text import Reading
from pages.shared.panel import panel, program


@panel
def read_both_orders(model: str, texts: Texts) -> None:
    """Draws both orders from the model's own configuration, their lines, and a run."""
    config = ask(Explorer.info)(model).config
    for column, pre_norm in zip(st.columns(2, gap="large"), (False, True), strict=True):
        operations = (*layer_operations(pre_norm), *(["final_norm"] * pre_norm))
        lines = [
            t(
                "read_model.order_line",
                name=plain(f"layer_steps.name_{name}"),
                formula=Markdown(
                    f"${describe(name, pre_norm, config.hidden_act).formula}$"
                ),
            )
            for name in operations
        ]
        with column:
            order = "pre" if pre_norm else "post"
            st.subheader(t(f"layers.order_{order}"), anchor=False)
            st.markdown("\n".join(lines))
    st.markdown(t("read_model.orders_code"))
    show_lines(ask(both_orders_of_a_block)())
    st.markdown(t("layers.orders_intro"))
    compare_orders(model)
    # What the same numbers make of the text in either order.
    st.subheader(t("read_model.orders_run"), anchor=False)
    st.markdown(t("read_model.orders_run_intro"))
    spreads = ask(spread_in_both_orders)(model, texts.text, texts.pair)
    *levels, _ = map(str, range(len(spreads["pre"])))
    show_curves(
        {f"layers.order_{order}": row for order, row in spreads.items()},
        "read_model.level",
        [*levels, plain("read_model.to_heads")],
        "read_model.orders_spread",
        name="read_orders",
        description=t(
            "read_model.orders_described",
            post=float(spreads["post"][-2]),
            pre=float(spreads["pre"][-2]),
            normed=float(spreads["pre"][-1]),
        ),
    )


_TOKENS_A_SENTENCE = 20
_SIDES = ("right", "wrong")


@panel
def try_wrong_formulas(read: Reading) -> None:
    """Draws the choice, both formulas, and what the wrong one changes."""
    model, texts, token = *read.asked, read.token
    info = ask(Explorer.info)(model)
    name = choose_named(
        "read_model.wrong", wrong_in(info.config, info.heads), widget=st.selectbox
    )
    st.markdown(t(f"read_model.wrong_about_{name}"))
    for column, side, formula in zip(
        st.columns(2), _SIDES, formulas_of(name, info.config), strict=True
    ):
        with column:
            st.markdown(t(f"read_model.side_{side}"))
            st.latex(formula)
    asked = texts.text, name, token
    effect = ask(effect_of_formula)(model, *asked, pair=texts.pair)
    if effect.place is not None:
        with st.expander(t("read_model.wrong_lines"), icon=":material/code:"):
            show_lines(effect.place)
    st.subheader(t("read_model.wrong_states"), anchor=False)
    worst = int(effect.differences.argmax())
    show_curves(
        {
            "read_model.largest_difference": effect.differences,
            "read_model.largest_number": effect.sizes,
        },
        "read_model.level",
        title="layers.value",
        name="read_wrong_states",
        description=t(
            "read_model.states_described",
            difference=float(effect.differences[worst]),
            level=worst,
            size=float(effect.sizes[worst]),
        ),
        code=program(snippets.WRONG, model, texts, name=effect.name, token=token),
    )
    _show_answers(effect, read.tokenized, token)
    if "mlm" in info.heads:
        _show_held_out(model, name)


def _show_answers(effect: FormulaEffect, tokenized: TokenizedText, token: int) -> None:
    if effect.pooled_difference is not None:
        st.markdown(t("read_model.pooled_changed", change=effect.pooled_difference))
    if effect.next_probs is not None:
        right, wrong = effect.next_probs.tolist()
        st.markdown(t("read_model.next_changed", right=right, wrong=wrong))
    if not effect.top_tokens:
        return
    st.subheader(t("read_model.wrong_guesses"), anchor=False)
    places = tokenized.mask_positions.tolist() or [token]
    names = numbered(tokenized.tokens)
    header = [
        plain("layers.one_token"),
        *(plain(f"read_model.guess_{s}") for s in _SIDES),
    ]
    rows = []
    for index, place in enumerate(places):
        cells = [
            plain("app.list_comma").join(
                f"{word} {percent(float(prob))}"
                for word, prob in zip(
                    effect.top_tokens[side][index],
                    effect.top_probs[side, index],
                    strict=True,
                )
            )
            for side in range(len(_SIDES))
        ]
        rows.append([names[place], *cells])
    st.markdown(table(header, rows))


def _show_held_out(model: str, name: str) -> None:
    st.subheader(t("read_model.held_out", count=NUM_SENTENCES), anchor=False)
    passes = 2 * NUM_SENTENCES * _TOKENS_A_SENTENCE
    found: HeldOut | None = ask_soon(
        "read_held_out",
        ask(held_out_with).about(model, name, language_of(model)),
        passes,
        _TOKENS_A_SENTENCE,
        "read_model.held_out_start",
    )
    if found is None:
        st.caption(t("read_model.held_out_about", count=NUM_SENTENCES))
        return
    header = ["", *(plain(f"read_model.guess_{side}") for side in _SIDES)]
    rows = [
        [plain("read_model.perplexity"), *(f"{x:,.1f}" for x in found.perplexities)],
        [plain("read_model.first_right"), *(f"{x:.1%}" for x in found.right_firsts)],
    ]
    st.markdown(table(header, rows))
    st.caption(t("read_model.held_out_read", count=found.num_tokens))
