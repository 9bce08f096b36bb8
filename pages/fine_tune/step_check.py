"""Step 2: what is odd about the rows, and what to do about it."""

import math

import numpy as np
import streamlit as st

from bertviz_core.figures.finetune_data import (
    MAX_BARS,
    balance_figure,
    lengths_figure,
    numbers_figure,
)
from bertviz_core.training.finetune.checks import MUCH_CUT, DataCheck, Finding
from bertviz_core.training.finetune.request import DataChoice
from bertviz_core.training.finetune.split import REMEDIES
from bertviz_core.training.finetune.visitor_tables import (
    PAGE_ROWS,
    Wanted,
    rows_to_mend,
)
from pages.fine_tune.mend_rows import show_mending
from pages.fine_tune.state import (
    MAX_RATE,
    MAX_SEED,
    MIN_RATE,
    FineTuneState,
    offer_step,
    remember,
)
from pages.fine_tune.step_data import choose_field, show_left_out
from pages.fine_tune.step_train import (
    ESTIMATE,
    SHORTEST,
    balance_of,
    max_tokens_of,
    show_estimate,
)
from pages.fine_tune.widgets import say, show_notes, text_columns
from pages.shared.answers import ask, has_job
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure, show_table
from pages.shared.language import in_a_row, plain, t, words_of
from pages.shared.panel import folded, panel, show_numbers

# Those that have a picture and a place of their own.
_ELSEWHERE = ("lengths", "balance", "rare")
_STEP = 8
_KEPT_WHOLE = 0.95  # of the rows, where nothing stands in the way


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
            "fine_tune.rows_test": f"{check.num_test:,}",
            "fine_tune.share_unknown": f"{check.share_unknown:.1%}",
        }
    )
    show_left_out(state, check)
    st.subheader(t("fine_tune.findings_title"), anchor=False)
    _show_findings(check, data)
    show_mending(state)
    st.subheader(t("fine_tune.split_title"), anchor=False)
    _choose_split(state, check)
    st.subheader(t("fine_tune.balance_title"), anchor=False)
    if check.is_regression:
        _show_target_numbers(check)
    else:
        _show_classes(check)
        _choose_remedy(state, check)
    for finding in check.findings:
        if finding.kind in ("balance", "rare") and finding.severity != "good":
            _show_finding(finding, data)
    st.subheader(t("fine_tune.lengths_title"), anchor=False)
    choose_length(check, max_tokens_of(state, check) if has_job(ESTIMATE) else None)
    too_long = check.finding("lengths")
    if too_long is not None and too_long.severity == "warning":
        _show_finding(too_long, data)
    st.subheader(t("fine_tune.estimate_title"), anchor=False)
    show_estimate(state, check)
    offer_step("train", "check")


def _show_findings(check: DataCheck, data: DataChoice) -> None:
    own = [finding for finding in check.findings if finding.kind not in _ELSEWHERE]
    good = [finding.message for finding in own if finding.severity == "good"]
    if all(finding.severity == "good" for finding in check.findings):
        st.success(t("fine_tune.nothing_odd"), icon=":material/check_circle:")
    for finding in own:
        if finding.severity != "good":
            _show_finding(finding, data)
    if good:
        with st.expander(t("fine_tune.in_order", count=len(good))):
            show_notes(good)


def _show_finding(finding: Finding, data: DataChoice) -> None:
    text = say(finding.message)
    if finding.remedy is not None:
        text += f"  \n**{t('fine_tune.what_to_do')}** {say(finding.remedy)}"
    if finding.severity == "warning":
        st.warning(text, icon=":material/warning:")
    else:
        st.info(text, icon=":material/info:")
    if not finding.rows:
        return
    # Of one kind there can be several: a token for each class that gives it away.
    name = f"{finding.kind}_{finding.rows[0]}"
    label, key = t("fine_tune.look_at_rows"), f"ft_rows_{name}"
    box = folded(label, "table_rows", key, st.popover)
    if box is None:
        return
    with box, shown_to_user(stop=False):
        shown = finding.rows[:PAGE_ROWS]
        found = ask(rows_to_mend)(data.source, data.columns, Wanted(rows=shown)).rows
        rows = sorted(found, key=lambda row: shown.index(row.row))  # the worst first
        columns = {
            "results.row": [row.row for row in rows],
            "results.label": [row.label for row in rows],
            **text_columns(rows),
        }
        show_table(columns, plain("fine_tune.look_at_rows"), f"fine_tune_{name}")


def _choose_split(state: FineTuneState, check: DataCheck) -> None:
    chosen = t(f"fine_tune.split_{'tenth' if check.num_validation else 'none'}")
    st.markdown(in_a_row([t("fine_tune.split_explained"), chosen]))
    if state.validation:
        st.caption(t("fine_tune.split_by_file"))
        return
    rate_box, seed_box = st.columns(2)
    choose_field(
        rate_box.slider,
        "fine_tune.test_rate",
        state.test_rate,
        name="test_rate",
        min_value=MIN_RATE,
        max_value=MAX_RATE,
        step=0.05,
        format="percent",
    )
    choose_field(
        seed_box.number_input,
        "fine_tune.split_seed",
        state.seed,
        name="seed",
        min_value=0,
        max_value=MAX_SEED,
        step=1,
    )


def _show_classes(check: DataCheck) -> None:
    counts = (check.train_counts, check.validation_counts, check.test_counts)
    train, _, test = counts
    names, by_size = check.label_names, check.by_size
    shown = np.arange(len(names))
    if len(names) > MAX_BARS:
        shown = np.sort(by_size[:MAX_BARS])
        st.caption(t("fine_tune.largest_classes", shown=MAX_BARS, count=len(names)))
    most, least = int(by_size[0]), int(by_size[-1])
    words = words_of("fine_tune")
    are_equal = all(np.ptp(part) == 0 for part in (train, test))
    show_figure(
        balance_figure(
            [names[i] for i in shown], [part[shown] for part in counts], words
        ),
        name="fine_tune_balance",
        description=t(
            f"fine_tune.balance_described{'_equal' if are_equal else ''}",
            count=len(names),
            largest=names[most],
            most=int(train[most]),
            most_test=int(test[most]),
            smallest=names[least],
            least=int(train[least]),
            least_test=int(test[least]),
        ),
        columns={"fine_tune.label_column": names, **_columns(counts)},
    )


def _choose_remedy(state: FineTuneState, check: DataCheck) -> None:
    balance = balance_of(state, check)

    def name_of(remedy: str) -> str:
        name = plain(f"fine_tune.remedy_{remedy}")
        is_proposed = remedy == check.remedy
        return plain("fine_tune.proposed", name=name) if is_proposed else name

    choose_field(
        st.segmented_control,
        "fine_tune.remedy",
        balance,
        REMEDIES,
        name="balance",
        required=True,
        say=name_of,
    )
    st.caption(t(f"fine_tune.remedy_{balance}_explained"))


def _show_target_numbers(check: DataCheck) -> None:
    edges, name = check.label_edges, check.label_names[0]
    counts = (check.train_counts, check.validation_counts, check.test_counts)
    low, high = float(edges[0]), float(edges[-1])
    show_figure(
        numbers_figure(edges, counts, name, words_of("fine_tune")),
        name="fine_tune_numbers",
        description=t("fine_tune.numbers_described", name=name, low=low, high=high),
        columns={
            "fine_tune.figure_from": edges[:-1],
            "fine_tune.figure_to": edges[1:],
            **_columns(counts),
        },
    )


def _columns(counts: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """Rows of the three parts, by the keys of their names."""
    parts = ("train", "check", "test")
    return {f"fine_tune.figure_{p}": n for p, n in zip(parts, counts, strict=True)}


@panel
def choose_length(check: DataCheck, rests_on: int | None = None) -> None:
    """Draws how long texts are, and a slider for where they are cut.

    It asks the engine nothing. `rests_on` is the maximum of figures elsewhere on the
    page: another one draws the whole page anew.
    """
    max_tokens = max_tokens_of(remember(), check)
    if rests_on not in (None, max_tokens):
        st.rerun()
    st.markdown(t("fine_tune.lengths_explained"))
    lengths, limit = check.lengths, check.max_position_embeddings
    longest, least = int(lengths.num_tokens[-1]), min(SHORTEST, limit)
    # What the longest text asks for, as far as the model reads.
    top = min(max(max_tokens, math.ceil(longest / _STEP) * _STEP), limit)
    if top > least:
        choose_field(
            st.slider,
            "fine_tune.max_tokens",
            max_tokens,
            name="max_tokens",
            min_value=least,
            max_value=top,
            step=_STEP,
            help=_say_default(check),
        )
    share = lengths.share_cut(max_tokens)
    show_numbers(
        {
            "fine_tune.texts_cut": f"{share:.1%}",
            "fine_tune.tokens_cut": f"{lengths.share_tokens_cut(max_tokens):.1%}",
        }
    )
    if share > MUCH_CUT and max_tokens < top:
        said = t("fine_tune.much_is_cut", share=share)
        st.warning(said, icon=":material/content_cut:")
    counted, words = (lengths.num_tokens, lengths.num_rows), words_of("fine_tune")
    show_figure(
        lengths_figure(*counted, max_tokens, top, words),
        name="fine_tune_lengths",
        description=t(
            "fine_tune.lengths_described",
            max_tokens=max_tokens,
            share=share,
            median=lengths.percentile(50),
            most=lengths.percentile(95),
            longest=longest,
        ),
        columns={
            "fine_tune.figure_tokens": lengths.num_tokens,
            "fine_tune.figure_rows": lengths.num_rows,
        },
    )


def _say_default(check: DataCheck) -> str:
    """What the proposed maximum is good for, which the model may have lowered."""
    default = check.default_max_tokens
    whole = 1 - check.lengths.share_cut(default)
    if whole >= _KEPT_WHOLE:
        return t("fine_tune.max_tokens_help", default=default)
    why = "model" if default >= check.max_position_embeddings else "share"
    return t(f"fine_tune.max_tokens_help_{why}", default=default, share=whole)
