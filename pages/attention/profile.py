"""What the heads do: measured on this text and on grammar, named with evidence."""

import functools
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.head_distances import nearest_heads, order_by_likeness
from bertviz_core.analysis.head_grammar import LEAST_ROWS as LEAST_CASES
from bertviz_core.analysis.head_grammar import HeadGrammar
from bertviz_core.analysis.head_profiles import (
    BROAD_THRESHOLD,
    LEAST_ROWS,
    SHARE_THRESHOLD,
    name_heads,
)
from bertviz_core.errors import TextError
from bertviz_core.experiments.attention_matrix import profile_heads
from bertviz_core.experiments.attention_results import CorpusProfile
from bertviz_core.experiments.corpus_profiles import corpus_profile, grammar_of_heads
from bertviz_core.figures.square_map import square_map_figure
from bertviz_core.snippets import attention as programs
from pages.attention.canvas import Head, View
from pages.attention.causes import place_of, show_clickable
from pages.shared.answers import ask, ask_job
from pages.shared.choices import choose_linked, choose_named
from pages.shared.export import show_figure, show_table
from pages.shared.language import Markdown, listed, plain, t
from pages.shared.models import language_of
from pages.shared.own_text import Reading
from pages.shared.panel import Program, folded, panel, program
from pages.shared.uploads import upload_box

_MEGABYTES = 1
_COLUMNS = (
    *("head_column", "relation", "found_column", "rule_column", "cases_column"),
    *("part_of_speech", "score_column", "baseline_column"),
)


def show_grammar(model: str, framed: Head) -> None:
    """Draws the box for a treebank, and what each head finds in it."""
    st.markdown(t("attention.grammar_intro"))
    conllu = _uploaded()
    language = language_of(model)
    found = ask_job(
        "attention_grammar",
        "attention.grammar_start",
        ask(grammar_of_heads).about(model, language, conllu),
        at_once=True,
    )
    if found is not None:
        code = program(programs.GRAMMAR, model, language=language)
        # A program cannot know where a visitor's file lies.
        _show_relation(found, framed, code if conllu is None else None)
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


def _show_relation(found: HeadGrammar, framed: Head, code: Program | None) -> None:
    often = [
        name
        for name, count in zip(found.relations, found.counts, strict=True)
        if count >= LEAST_CASES
    ]
    if not often:
        st.info(t("attention.grammar_too_few", count=LEAST_CASES))
        return
    name = choose_linked(st.selectbox, "attention.relation", often)
    index = found.relations.index(name)
    values = found.accuracies[index]
    show_clickable(
        values,
        "relation",
        plain("attention.relation_found", relation=name),
        t(
            "attention.relation_described",
            relation=name,
            count=int(found.counts[index]),
            offset=int(found.offsets[index]),
            rule=float(found.baselines[index]),
            **place_of(values, int(values.argmax())),
        ),
        framed,
        code=code,
    )


def _show_heads(found: HeadGrammar) -> None:
    st.subheader(t("attention.grammar_heads"), anchor=False)
    rows = []
    for layer, head in np.ndindex(found.accuracies.shape[1:]):
        relation, part, lead = ("",) * 4, ("",) * 3, 0.0
        if (one := found.best_relation(layer, head)) is not None:
            share, rule = found.accuracies[one, layer, head], found.baselines[one]
            lead = share - rule
            shares = f"{share:.0%}", f"{rule:.0%}"
            relation = (found.relations[one], *shares, str(found.counts[one]))
        if (one := found.best_part(layer, head)) is not None:
            share, even = found.part_shares[one, layer, head], found.part_baselines[one]
            part = (found.parts_of_speech[one], f"{share:.0%}", f"{even:.0%}")
        rows.append((lead, (f"{layer + 1}·{head + 1}", *relation, *part)))
    rows.sort(key=lambda row: -row[0])
    cells = zip(*(row for _, row in rows), strict=True)
    table = dict(zip((f"attention.{name}" for name in _COLUMNS), cells, strict=True))
    counts = {"sentences": found.num_sentences, "words": found.num_words}
    said = t("attention.grammar_explained", **counts, least=LEAST_CASES)
    told = t("attention.grammar_heads")
    show_table(table, told, "attention_head_grammar", said)


# Measures that have a map; the ones that begin with "to_" are shares of attention.
SHOWN = (
    *("entropy_bits", "mean_distance", "to_previous", "to_next", "to_self", "to_cls"),
    *("to_separators", "to_same_word", "to_other_segment"),
)


@panel
def explore_profile(read: Reading, view: View) -> None:
    """Draws the measures of all heads, their names, and the heads like one."""
    where = choose_named(
        "attention.profile_where", ("here", "corpus", "grammar"), "profile"
    )
    if where == "grammar":
        show_grammar(read.model, (view.layer, view.head))
        return
    places = {"share": SHARE_THRESHOLD, "broad": BROAD_THRESHOLD, "rows": LEAST_ROWS}
    st.markdown(t("attention.profile_intro", **places))
    of: dict[str, Any] = {"layer": view.layer, "head": view.head}
    if where == "corpus":
        of["language"] = language_of(read.model)
        code = functools.partial(program, programs.CORPUS_PROFILE, read.model, **of)
        found = ask_job(
            "attention_profile",
            "attention.profile_start",
            ask(corpus_profile).about(read.model, of["language"]),
        )
    else:
        code = functools.partial(program, programs.PROFILE, *read.asked, **of)
        found = ask(profile_heads)(*read.asked)
    if found is None:
        return
    profile = found.profile
    measured = [name for name in SHOWN if not np.isnan(profile.of(name)).all()]
    name = choose_named("attention.measure", measured, widget=st.selectbox)
    values, title = profile.of(name), plain(f"attention.measure_{name}")
    show_clickable(
        values,
        "measure",
        title,
        t(
            "attention.measure_described",
            measure=title,
            count=profile.num_texts,
            **place_of(values, int(np.nanargmax(values))),
        ),
        (view.layer, view.head),
        code=code(measure=name),
        top=float(np.nanmax(values)),
    )
    _show_names(found, where)
    num_layers, num_heads = found.distances.shape[:2]
    if num_layers * num_heads > 1:  # else there is nothing to be like
        _show_near(found, view.layer, view.head)
        _show_likeness(found)


def _show_names(found: CorpusProfile, where: str) -> None:
    st.subheader(t("attention.names_title"), anchor=False)
    named = name_heads(found.profile)
    if not named:
        said = t(f"attention.no_names_{where}", rows=LEAST_ROWS)
        st.info(said, icon=":material/label_off:")
        return
    keys = [one.name.strip("[]").lower().replace(" ", "_") for one in named]
    table: dict[str, list[Any]] = {
        "head": [f"{one.layer + 1}·{one.head + 1}" for one in named],
        "name": [plain(f"attention.name_{key}") for key in keys],
        "score": [one.score for one in named],
        "threshold": [one.threshold for one in named],
        "baseline": [one.baseline for one in named],
        "rows": [one.num_rows for one in named],
    }
    table = {f"attention.{name}_column": cells for name, cells in table.items()}
    told, said = t("attention.names_title"), t("attention.names_explained")
    show_table(table, told, "attention_named_heads", said)


def _show_near(found: CorpusProfile, layer: int, head: int) -> None:
    places = {"layer": layer + 1, "head": head + 1}
    st.subheader(t("attention.near_title", **places), anchor=False)
    st.caption(t("attention.near_explained"))
    distances = found.distances[layer, head]
    nearest = listed(
        f"{near.layer + 1}·{near.head + 1} ({near.distance:.2f})"
        for near in nearest_heads(found.distances, layer, head)
    )
    show_clickable(
        distances,
        "distance",
        plain("attention.distance"),
        t("attention.distance_described", **places, nearest=Markdown(nearest)),
        (layer, head),
        top=float(distances.max()),
    )


def _show_likeness(found: CorpusProfile) -> None:
    """Every head against every other, so that groups of like heads can be seen."""
    # Made when it is opened: of 144 heads it is as large as the rest of the panel.
    label, key = t("attention.likeness_title"), "attention_likeness_box"
    box = folded(label, "workspaces", key, st.expander)
    if box is None:
        return
    num_heads = found.distances.shape[1]
    order = order_by_likeness(found.distances)
    names = [f"{place // num_heads + 1}·{place % num_heads + 1}" for place in order]
    distances = found.distances.reshape(len(order), -1)[np.ix_(order, order)]
    first, second = np.triu_indices(len(order), k=1)
    between = distances[first, second]
    most = int(between.argmin())
    title, side = plain("attention.distance"), plain("attention.head_column")
    with box:
        show_figure(
            square_map_figure(distances, names, title=title, side_title=side),
            name="attention_likeness",
            description=t(
                "attention.likeness_described",
                first=names[first[most]],
                second=names[second[most]],
                distance=float(between[most]),
            ),
            columns={
                side: [names[i] for i in first],
                "attention.other_head": [names[i] for i in second],
                title: between.tolist(),
            },
        )
