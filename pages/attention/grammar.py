"""What the heads look at in terms of grammar, over sentences that bring theirs."""

from __future__ import annotations

import numpy as np
import streamlit as st

from bertviz_core.analysis.head_grammar import LEAST_ROWS, HeadGrammar
from bertviz_core.errors import TextError
from bertviz_core.experiments.head_grammar import grammar_of_heads
from bertviz_core.snippets import attention as programs
from pages.attention.maps import place_of, show_head_map
from pages.shared.answers import ask
from pages.shared.choices import choose_linked
from pages.shared.code import program
from pages.shared.export import Columns, download_csv
from pages.shared.jobs import ask_job
from pages.shared.language import current_language, plain, t
from pages.shared.models import language_of
from pages.shared.upload_box import upload_box

_MEGABYTES = 1
_COLUMNS = (
    *("head_column", "relation", "found_column", "rule_column", "cases_column"),
    *("part_of_speech", "score_column", "baseline_column"),
)


def show_grammar(model: str) -> None:
    """Draws the box for a treebank, and what each head finds in it."""
    st.markdown(t("attention.grammar_intro"))
    conllu = _uploaded()
    language = language_of(model) or current_language()
    found = ask_job(
        "attention_grammar",
        t("attention.grammar_start"),
        ask(grammar_of_heads).about(model, language, conllu),
        at_once=True,
    )
    if found is not None:
        _show_relation(model, language, found, is_own=conllu is not None)
        _show_heads(found)


def _uploaded() -> str | None:
    """A visitor's treebank; `None` for the bundled one."""
    with st.expander(t("attention.grammar_own"), icon=":material/upload_file:"):
        file = upload_box(
            t("attention.grammar_file"),
            key="attention_treebank",
            limit=plain("attention.grammar_limit", size=_MEGABYTES),
            refusal=plain("attention.grammar_limit", size=_MEGABYTES),
            megabytes=_MEGABYTES,
            endings=("conllu", "conll", "txt"),
        )
    if file is None:
        return None
    try:
        with file.opened() as source:
            return source.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextError(
            "The file is not UTF-8 text. Received: {name}. Save it as UTF-8.",
            name=file.name[:100],
        ) from error


def _show_relation(
    model: str, language: str, found: HeadGrammar, *, is_own: bool
) -> None:
    often = [
        name
        for name, count in zip(found.relations, found.counts, strict=True)
        if count >= LEAST_ROWS
    ]
    if not often:
        st.info(t("attention.grammar_too_few", count=LEAST_ROWS))
        return
    name = choose_linked(
        st.selectbox,
        t("attention.relation"),
        often,
        key="attention_relation",
        help=t("attention.relation_help"),
    )
    index = found.relations.index(name)
    values = found.accuracies[index]
    show_head_map(
        "attention_relation_map",
        values,
        plain("attention.relation_found", relation=name),
        t(
            "attention.relation_described",
            relation=name,
            count=int(found.counts[index]),
            offset=int(found.offsets[index]),
            rule=float(found.baselines[index]),
            **place_of(values, int(values.argmax())),
        ),
        # A program cannot know where a visitor's file lies.
        None if is_own else program(programs.GRAMMAR, model=model, language=language),
    )


def _show_heads(found: HeadGrammar) -> None:
    st.subheader(t("attention.grammar_heads"), anchor=False)
    rows = []
    for layer, head in np.ndindex(found.accuracies.shape[1:]):
        relation, part, lead = ("",) * 4, ("",) * 3, 0.0
        if (one := found.best_relation(layer, head)) is not None:
            share, rule = found.accuracies[one, layer, head], found.baselines[one]
            lead = share - rule
            relation = (
                found.relations[one],
                f"{share:.0%}",
                f"{rule:.0%}",
                str(found.counts[one]),
            )
        if (one := found.best_part(layer, head)) is not None:
            share, even = found.part_shares[one, layer, head], found.part_baselines[one]
            part = (found.parts_of_speech[one], f"{share:.0%}", f"{even:.0%}")
        rows.append((lead, (f"{layer + 1}·{head + 1}", *relation, *part)))
    rows.sort(key=lambda row: -row[0])
    table: Columns = {
        plain(f"attention.{name}"): list(column)
        for name, column in zip(
            _COLUMNS, zip(*(row for _, row in rows), strict=True), strict=True
        )
    }
    st.dataframe(table, hide_index=True, alt=t("attention.grammar_heads"))
    st.caption(
        t(
            "attention.grammar_explained",
            sentences=found.num_sentences,
            words=found.num_words,
            least=LEAST_ROWS,
        )
    )
    download_csv(table, "attention_head_grammar")
