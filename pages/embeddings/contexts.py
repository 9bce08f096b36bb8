"""One word in different sentences: its senses layer by layer, similar contexts."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bertviz_core.analysis.map_quality import MOST_NEIGHBOURS
from bertviz_core.analysis.nearest_words import best_of
from bertviz_core.experiments.embedding_results import (
    Context,
    SimilarContexts,
    WordSenses,
)
from bertviz_core.experiments.map_results import SentenceMap
from bertviz_core.experiments.sentence_states import word_senses
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.point_map import FirstChoice, PointMap
from bertviz_core.snippets import embeddings as programs
from pages.embeddings.figures import (
    MOST_IN_FILE,
    MOST_SHOWN,
    MapFiles,
    layer_name,
    layer_notes,
    map_title,
    show_cosines,
    show_map_tools,
    show_nearest_points,
    type_word,
)
from pages.embeddings.sentence_box import edit_sentences, say_cut
from pages.shared.answers import ask, ask_job, ask_soon
from pages.shared.choices import choose_linked
from pages.shared.export import show_curves
from pages.shared.language import Markdown, escape, in_a_row, plain, t
from pages.shared.models import language_of
from pages.shared.own_text import choose_piece_in_focus, read_by, type_sentence
from pages.shared.panel import Program, panel, program, show_number_tools
from pages.shared.point_map import groups_colour, point_map

_MAP = "embeddings_senses_map"
_WORD = {"en": "bank", "zh": "苹果"}


@panel
def explore_senses(model: str) -> None:
    """Draws the word, its sentences, the curves, the map and the cosines."""
    word = type_word("sense_word", language_of(model), _WORD)
    lines = edit_sentences(model, "senses")
    if lines is None:
        return
    if not word:
        st.info(t("embeddings.no_word"), icon=":material/edit:")
        return
    sentences, labels = lines.sentences, lines.labels
    found = ask_job(
        "embeddings_senses",
        "embeddings.follow_word",
        ask(word_senses).about(model, sentences, word, labels),
        at_once=True,
    )
    if found is None:
        return
    say_cut(model, found.num_cut, len(sentences))
    _show_curves(found)
    state = _show_map(model, found)
    code = program(
        programs.SENSES, model, sentences=sentences, word=word, senses=labels
    )
    _show_cosines(found, state, code)


def _show_curves(found: WordSenses) -> None:
    columns = {
        "within": [one.within_cosine for one in found.separations],
        "between": [one.between_cosine for one in found.separations],
        "score": [one.score for one in found.separations],
    }
    curves = {
        f"embeddings.sense_{name}": np.array(values, np.float64)
        for name, values in columns.items()
        if None not in values
    }
    told = [_compared(found)]
    if unnamed := found.senses.count(""):
        told.append(t("embeddings.senses_unnamed", count=unnamed))
    if curves:
        lowest = min(-0.05, *(values.min() for values in curves.values()))
        show_curves(
            curves,
            "embeddings.layer_axis",
            name="embeddings_sense_curves",
            description=in_a_row(told),
            bounds=(lowest, 1.05),
        )
        return
    if len(found.senses) == 1:
        told = [t("embeddings.one_occurrence")]
    st.info(in_a_row(told), icon=":material/info:")


def _compared(found: WordSenses) -> str:
    last = found.separations[-1]
    if last.within_cosine is None or last.between_cosine is None:
        return t("embeddings.senses_not_compared", count=len(found.senses))
    if last.score is None or last.largest_share is None:
        places = {"within": last.within_cosine, "between": last.between_cosine}
        return t("embeddings.senses_not_scored", **places)
    scores = [one.score for one in found.separations if one.score is not None]
    best = int(np.argmax(scores))
    return t(
        "embeddings.senses_described",
        count=last.num_scored,
        score=last.score,
        base=last.largest_share,
        within=last.within_cosine,
        between=last.between_cosine,
        best=scores[best],
        layer=layer_name(best),
    )


def _show_map(model: str, found: WordSenses) -> int:
    """Draws the map and gives the layer that is shown."""
    if (drawn := found.map) is None:
        st.info(t("embeddings.few_occurrences"), icon=":material/info:")
        return len(found.states) - 1
    none = plain("embeddings.no_group")
    groups = [sense or none for sense in found.senses]
    points = PointMap(
        labels=drawn.labels,
        coordinates=drawn.coordinates,
        colours=(groups_colour(plain("embeddings.sense"), groups),),
        first=FirstChoice(state=len(found.states) - 1),
        state_names=tuple(layer_name(i) for i in range(len(found.states))),
        notes=layer_notes(drawn),
        title=f"{map_title('senses', 'pca', model)} · {found.word}",
    )
    chosen = point_map(points, _MAP)
    state, selected = chosen.state, chosen.selected
    if selected is not None:
        others = np.arange(len(drawn.labels)) != selected
        near = best_of(found.cosines[state][selected], MOST_NEIGHBOURS, allowed=others)
        at = (selected, state, layer_name(state))
        show_nearest_points(_MAP, drawn.labels, drawn.labels, at, near)
    show_map_tools(_MAP, lambda: _files(found, drawn, state))
    return state


def _files(found: WordSenses, drawn: SentenceMap, state: int) -> MapFiles:
    table = {
        "embeddings.text": list(drawn.labels),
        "embeddings.sense": list(found.senses),
        "embeddings.first_token_index": found.spans[:, 0].tolist(),
    }
    headers = ("sentence", "sense", "first_token_index")
    vectors = found.states[state]
    return MapFiles(
        drawn.at(state),
        t("embeddings.layer_files_explained", layer=layer_name(state)),
        table,
        dict(zip(headers, table.values(), strict=True)),
        vectors.shape[1],
        lambda: vectors,
    )


def _show_cosines(found: WordSenses, state: int, code: Program) -> None:
    order = np.argsort(np.array(found.senses, object).astype(str), kind="stable")
    order = order[:MOST_IN_FILE]
    names = [f"{found.senses[i]} {found.sentence_index[i] + 1}".strip() for i in order]
    layer = layer_name(state)
    show_cosines(
        found.cosines[state][np.ix_(order, order)],
        names,
        names,
        title=plain("embeddings.sense_cosines", layer=layer),
        point=plain("embeddings.occurrence"),
        name="embeddings_sense_cosines",
        description=t(
            "embeddings.sense_cosines_described",
            layer=layer,
            count=min(len(order), MOST_SHOWN),
            all=len(found.senses),
            file=len(names),
        ),
        headers=[f"{number} {name}" for number, name in enumerate(names, start=1)],
        code=code,
    )


_CONTEXTS = "embeddings_contexts"
_LENGTH = 20  # tokens of a bundled sentence, about


@panel
def explore_contexts(model: str) -> None:
    """Draws the sentence, the choice of its token and of a layer, and what is alike."""
    texts = type_sentence(model)
    reading = choose_piece_in_focus(read_by(model, texts))
    read, token = reading.tokenized, reading.token
    if read.is_added[token]:
        st.info(t("embeddings.contexts_added"), icon=":material/touch_app:")
        return
    last = ask(Explorer.info)(model).config.num_hidden_layers
    layers = {str(layer): layer_name(layer) for layer in range(last + 1)}
    key = f"{_CONTEXTS}_layer"
    layer = choose_linked(st.selectbox, "glossary.layer", layers, str(last), key=key)
    language = language_of(model)
    text = " || ".join(filter(None, (texts.text, texts.pair)))
    point = int((~read.is_added[:token]).sum())  # among those of the text alone
    searched = searched_sentences(language)
    question = ask(similar_contexts).about(
        model, (text,), "token", model, searched, "token", int(layer), point
    )
    label = "embeddings.search_contexts"
    found = ask_soon(_CONTEXTS, question, len(searched), _LENGTH, label)
    if found is None:
        return
    _show(found, read.tokens[token])
    where = {"text": text, "layer": int(layer), "point": point}
    code = program(programs.CONTEXTS, model, language=language, **where)
    told = t("embeddings.panel_contexts")
    show_number_tools(_CONTEXTS, lambda: _columns(found), told, code)


def _show(found: SimilarContexts, token: str) -> None:
    layer = layer_name(found.layer)
    title = t("embeddings.contexts_title", token=token, layer=layer)
    st.subheader(title, anchor=False)
    rows = [f"{one.cosine:.3f} · {_marked(one)}" for one in found.contexts]
    st.markdown("\n".join(f"{rank}. {row}" for rank, row in enumerate(rows, start=1)))
    counts = {"tokens": found.num_tokens, "sentences": found.num_sentences}
    mean = found.mean_cosine
    st.caption(t("embeddings.contexts_searched", **counts, layer=layer, mean=mean))


def _columns(found: SimilarContexts) -> dict[str, Sequence[object]]:
    return {
        "embeddings.rank_column": list(range(1, len(found.contexts) + 1)),
        "embeddings.layer_axis": [layer_name(found.layer)] * len(found.contexts),
        "embeddings.token": [one.token for one in found.contexts],
        "embeddings.text": [
            one.before + one.token + one.after for one in found.contexts
        ],
        "embeddings.token_start": [len(one.before) for one in found.contexts],
        "embeddings.cosine": [one.cosine for one in found.contexts],
    }


def _marked(one: Context) -> Markdown:
    """A sentence, its token with a ground of its own."""
    # `escape` takes away the spaces beside the token.
    left = " " * one.before.endswith(" ")
    right = " " * one.after.startswith(" ")
    token = f":primary-background[**{escape(one.token)}**]"
    return Markdown(f"{escape(one.before)}{left}{token}{right}{escape(one.after)}")
