"""Step 2: what is odd about the rows, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from bertviz_core.engine.finetune_tasks import data_rows
from bertviz_core.finetune.data_check import DataCheck
from bertviz_core.finetune.findings import Finding
from bertviz_core.finetune.request import DataChoice
from pages.fine_tune.balance import show_balance
from pages.fine_tune.estimating import is_asked, show_estimate
from pages.fine_tune.lengths import choose_length, max_tokens_of
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.state_in_link import MAX_RATE, MAX_SEED, MIN_RATE
from pages.fine_tune.state_widgets import enter_field
from pages.fine_tune.step_data import show_left_out
from pages.fine_tune.steps import offer_step
from pages.fine_tune.wording import say, show_notes
from pages.shared.answers import ask
from pages.shared.errors import shown_to_user
from pages.shared.export import download_csv
from pages.shared.language import plain, t
from pages.shared.panel import show_numbers

# Those that have a picture and a place of their own.
_ELSEWHERE = ("lengths", "balance", "rare")


def show(state: FineTuneState) -> None:
    """Draws this step."""
    st.header(t("fine_tune.check_title"), anchor=False)
    st.markdown(t("fine_tune.check_intro"))
    check, data = state.check, state.data
    if check is None or data is None:
        return
    show_numbers(
        {
            "fine_tune.rows_usable": f"{check.num_rows:,}",
            "fine_tune.rows_train": f"{check.num_train:,}",
            "fine_tune.rows_check": f"{check.num_validation:,}",
            "fine_tune.share_unknown": f"{check.share_unknown:.1%}",
        }
    )
    show_left_out(state, check)
    st.subheader(t("fine_tune.findings_title"), anchor=False)
    _show_findings(check, data)
    st.subheader(t("fine_tune.split_title"), anchor=False)
    _choose_split(state)
    st.subheader(t("fine_tune.balance_title"), anchor=False)
    show_balance(state, check)
    for finding in check.findings:
        if finding.kind in ("balance", "rare") and finding.severity != "good":
            show_finding(finding, data)
    st.subheader(t("fine_tune.lengths_title"), anchor=False)
    choose_length(check, max_tokens_of(state, check) if is_asked(state) else None)
    too_long = check.finding("lengths")
    if too_long is not None and too_long.severity == "warning":
        show_finding(too_long, data)
    st.subheader(t("fine_tune.estimate_title"), anchor=False)
    show_estimate(state)
    offer_step("train", "check")


def show_finding(finding: Finding, data: DataChoice) -> None:
    """Draws one thing that was noticed, its remedy, and the rows to look at."""
    text = say(finding.message)
    if finding.remedy is not None:
        text += f"  \n**{t('fine_tune.what_to_do')}** {say(finding.remedy)}"
    if finding.severity == "warning":
        st.warning(text, icon=":material/warning:")
    else:
        st.info(text, icon=":material/info:")
    if finding.rows:
        _offer_rows(finding, data)


def _show_findings(check: DataCheck, data: DataChoice) -> None:
    own = [finding for finding in check.findings if finding.kind not in _ELSEWHERE]
    noticed = [finding for finding in own if finding.severity != "good"]
    good = [finding for finding in own if finding.severity == "good"]
    if all(finding.severity == "good" for finding in check.findings):
        st.success(t("fine_tune.nothing_odd"), icon=":material/check_circle:")
    for finding in noticed:
        show_finding(finding, data)
    if good:
        with st.expander(t("fine_tune.in_order", count=len(good))):
            show_notes([finding.message for finding in good])


def _offer_rows(finding: Finding, data: DataChoice) -> None:
    popover = st.popover(
        t("fine_tune.look_at_rows"),
        icon=":material/table_rows:",
        key=f"ft_rows_{finding.kind}",
        on_change="rerun",
    )
    if not popover.open:
        return
    with popover, shown_to_user(stop=False):
        rows = ask(data_rows)(data, finding.rows)
        columns: dict[str, Sequence[Any]] = {
            plain("fine_tune.row_number"): [row.row for row in rows],
            plain("fine_tune.label_column"): [row.label for row in rows],
            plain("fine_tune.text_column"): [row.text for row in rows],
        }
        if data.columns.pair is not None:
            pairs = [row.pair or "" for row in rows]
            columns[plain("fine_tune.pair_column")] = pairs
        st.dataframe(columns, hide_index=True, alt=plain("fine_tune.look_at_rows"))
        download_csv(columns, f"fine_tune_{finding.kind}")


def _choose_split(state: FineTuneState) -> None:
    st.markdown(t("fine_tune.split_explained"))
    if state.validation:
        st.caption(t("fine_tune.split_by_file"))
        return
    rate_box, seed_box = st.columns(2)
    enter_field(
        rate_box.slider,
        t("fine_tune.validation_rate"),
        state.validation_rate,
        name="validation_rate",
        min_value=MIN_RATE,
        max_value=MAX_RATE,
        step=0.05,
        format="percent",
        help=t("fine_tune.validation_rate_help"),
    )
    enter_field(
        seed_box.number_input,
        t("fine_tune.split_seed"),
        state.seed,
        name="seed",
        min_value=0,
        max_value=MAX_SEED,
        step=1,
        help=t("fine_tune.split_seed_help"),
    )
