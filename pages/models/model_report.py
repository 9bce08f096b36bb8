"""What a model consists of: its parts and settings, every weight by its names."""

import dataclasses
import io
import math

import numpy as np
import streamlit as st

from bertviz_core.checkpoints.names import (
    COPIES,
    GOOGLE,
    HUGGINGFACE,
    Weight,
    weights_of,
)
from bertviz_core.config import BertConfig
from bertviz_core.experiments.reference import check_against_reference
from bertviz_core.experiments.weight_pictures import weight_picture, weight_values
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import histogram_figure
from bertviz_core.snippets import read_model as snippets
from bertviz_core.trace import LoadReport, ModelInfo
from pages.shared.answers import ask
from pages.shared.choices import choose_linked, type_linked
from pages.shared.errors import sentence
from pages.shared.export import show_figure, show_table
from pages.shared.language import Markdown, listed, plain, t, table
from pages.shared.panel import download, panel, program


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
        [name, str(value), plain(f"models.field_{name}")]
        for name, value in dataclasses.asdict(config).items()
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


_BYTES_A_NUMBER = 4
# A download lies in memory until the page runs again.
_MOST_BYTES = 64 * 2**20

Pair = tuple[Weight, Weight]  # as Google and as Hugging Face store it


@panel
def weight_names(model: str) -> None:
    """Draws the table, a filter, and the picture of the weight that is chosen."""
    info = ask(Explorer.info)(model)
    num_labels = len(info.labels) or 2
    both = (
        weights_of(info.config, info.heads, kind, num_labels)
        for kind in (GOOGLE, HUGGINGFACE)
    )
    pairs = tuple(zip(*both, strict=True))
    st.markdown(t("weight_names.intro"))
    wanted = type_linked(
        *(st.text_input, "weight_names.filter", ""),
        max_chars=100,
        placeholder=t("weight_names.filter_example"),
    ).lower()
    shown = [
        (google, theirs)
        for google, theirs in pairs
        if wanted in f"{google.ours} {google.stored} {theirs.stored}".lower()
    ]
    st.caption(t("weight_names.shown", count=len(shown), total=len(pairs)))
    if not shown:
        st.info(t("weight_names.none"), icon=":material/search_off:")
        return
    columns = _columns(shown)
    show_table(columns, plain("weight_names.alt"), "weight_names", height=300)
    copies = [f"- `{copy}` = `{original}`" for copy, original in COPIES.items()]
    st.caption(t("weight_names.notes", copies=Markdown("\n".join(copies))))
    names = [google.ours for google, _ in shown]
    _show_weight(model, choose_linked(st.selectbox, "weight_names.name", names))


def _columns(pairs: list[Pair]) -> dict[str, list[str]]:
    def stored(weight: Weight) -> str:
        if not weight.stored:
            return plain("weight_names.not_there")
        turned = plain("weight_names.transposed") if weight.transposed else ""
        return f"{_sizes(weight.stored_shape)} {turned}".strip()

    return {
        "weight_names.ours": [google.ours for google, _ in pairs],
        "weight_names.shape": [_sizes(google.shape) for google, _ in pairs],
        "weight_names.google": [google.stored for google, _ in pairs],
        "weight_names.google_shape": [stored(google) for google, _ in pairs],
        "weight_names.huggingface": [theirs.stored for _, theirs in pairs],
        "weight_names.huggingface_shape": [stored(hf) for _, hf in pairs],
    }


def _sizes(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def _show_weight(model: str, name: str) -> None:
    found = ask(weight_picture)(model, name)
    middles = (found.edges[:-1] + found.edges[1:]) / 2
    show_figure(
        histogram_figure(
            found.counts,
            found.edges,
            x_title=plain("weight_names.number"),
            y_title=plain("weight_names.how_many"),
        ),
        name="weight_picture",
        description=t(
            "weight_names.described",
            name=name,
            count=math.prod(found.shape),
            mean=found.mean,
            spread=found.spread,
            low=found.low,
            high=found.high,
        ),
        columns={"weight_names.number": middles, "weight_names.how_many": found.counts},
        code=program(snippets.WEIGHT, model, name=name),
    )
    if math.prod(found.shape) * _BYTES_A_NUMBER > _MOST_BYTES:
        st.caption(t("weight_names.too_large"))
        return
    download(
        "weight_names.save",
        lambda: _npy(ask(weight_values)(model, name)),
        plain("weight_names.file", name=name.replace("/", ".")),
        "application/octet-stream",
        "weight_file",
        "download",
    )


def _npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()
