"""What a model consists of, what became of its weights, how far it is from others."""

from __future__ import annotations

import streamlit as st

from bertviz_core.config import BertConfig
from bertviz_core.experiments.reference import check_against_reference
from bertviz_core.trace import LoadReport, ModelInfo
from pages.shared.answers import ask
from pages.shared.errors import sentence
from pages.shared.language import listed, plain, t
from pages.shared.markdown import Markdown, table
from pages.shared.panel import panel


@panel
def parity(model: str) -> None:
    """Compares a model with the reference that it brings; others draw nothing."""
    check = ask(check_against_reference)(model)
    if check is None:
        return
    with st.expander(t("models.parity", far=max(check.differences.values()))):
        count = len(check.tokens)
        st.markdown(
            t("models.parity_said", source=check.source, made=check.made, count=count)
        )
        header = [plain("models.output"), plain("models.farthest")]
        rows = [
            [name, f"{far:.1e}", f"{check.magnitudes[name]:.3g}"]
            for name, far in check.differences.items()
        ]
        st.markdown(table([*header, plain("models.largest_value")], rows))
        st.caption(t("models.parity_read", tokens=" ".join(check.tokens)))


HEADS = ("mlm", "nsp", "pooler", "classifier")
FIELDS = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
    *("intermediate_size", "hidden_act", "hidden_dropout_prob"),
    *("attention_probs_dropout_prob", "max_position_embeddings", "type_vocab_size"),
    *("initializer_range", "layer_norm_eps", "pre_norm"),
    *("sparse_block", "sparse_window", "sparse_stride", "sparse_global"),
)


def show_sizes(info: ModelInfo) -> None:
    """Draws the six numbers by which people name a model."""
    config = info.config
    numbers = {
        t("models.layers"): config.num_hidden_layers,
        t("models.heads"): config.num_attention_heads,
        t("models.hidden_size"): config.hidden_size,
        t("models.vocabulary"): config.vocab_size,
        t("models.longest_text"): config.max_position_embeddings,
        t("models.weights"): info.num_weights,
    }
    columns = [*st.columns(3), *st.columns(3)]
    for column, (name, number) in zip(columns, numbers.items(), strict=True):
        column.metric(name, _short(number))


def show_parts(info: ModelInfo) -> None:
    """Says which heads exist, which are absent, and how text is prepared."""
    for part in HEADS:
        if part in info.heads:
            st.markdown(f":material/check_circle: {t(f'models.head_{part}')}")
    for part in info.report.absent_parts:
        st.markdown(f":material/remove_circle: {t(f'models.absent_{part}')}")
    case = "models.lower_case" if info.lower_case else "models.keeps_case"
    st.markdown(f":material/text_fields: {t(case)}")
    if info.labels:
        st.markdown(t("models.classes", labels=listed(info.labels)))


def show_report(report: LoadReport) -> None:
    """Draws what became of every weight, choices first."""
    st.markdown(t(f"models.kind_{report.kind}"))
    for template, details in report.notes:
        st.markdown(f":material/info: {sentence(template, dict(details))}")
    if report.optimizer_slots:
        st.markdown(t("models.optimizer_slots", count=report.optimizer_slots))
    _show_names("models.loaded", "models.none_loaded", report.loaded)
    _show_names("models.unused", "models.all_used", report.unused)
    _show_names("models.reshaped", "models.none_reshaped", report.reshaped)


def config_table(config: BertConfig) -> Markdown:
    """The settings, each in plain words, as a Markdown table."""
    rows = [
        [name, str(getattr(config, name)), plain(f"models.field_{name}")]
        for name in FIELDS
    ]
    header = [plain("models.setting"), plain("models.value"), plain("models.meaning")]
    return table(header, rows)


def _show_names(some: str, none: str, names: tuple[str, ...]) -> None:
    if not names:
        st.markdown(t(none))
        return
    with st.expander(t(some, count=len(names))):
        st.code("\n".join(names), language=None, height=240)


def _short(number: object) -> str:
    """A count for a narrow box: 11,170,560 is 11.2 M."""
    if isinstance(number, int) and number >= 1_000_000:
        return f"{number / 1e6:,.1f} M"
    return f"{number:,}"
