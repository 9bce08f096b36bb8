"""What the model would write at each place, in each layer, and how well words fit."""

import re
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.every_position import predict_every_position
from bertviz_core.experiments.layer_results import LogitLens
from bertviz_core.experiments.lens import read_layers
from bertviz_core.experiments.scoring import (
    score_known_words,
    score_minimal_pair,
    score_sentence,
)
from bertviz_core.experiments.word_results import (
    EveryPosition,
    MinimalPair,
    SentenceScore,
    WordScore,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import signed_bars_figure
from bertviz_core.figures.lines import lines_figure
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.token_grid import token_grid_figure
from bertviz_core.snippets import masked_sentences, masked_words
from pages.masked_word.question import Question, choose_words, likely_ids
from pages.shared.answers import ask, ask_soon
from pages.shared.choices import choose_named, choose_number, type_linked
from pages.shared.export import show_figure, show_map
from pages.shared.language import listed, plain, t
from pages.shared.models import language_of
from pages.shared.own_text import type_other
from pages.shared.panel import Program, panel, program, show_numbers

_HOW = ("hidden", "seen")


@panel
def explore_positions(question: Question) -> None:
    """Draws the text with how surprising each word is, and a table."""
    st.markdown(t("masked.positions_intro"))
    how = choose_named("masked.positions_how", _HOW, "positions")
    st.caption(t(f"masked.positions_{how}_help"))
    size = question.tokenized.num_tokens
    passes = size if how == "hidden" else 1
    found = ask_soon(
        "masked_positions",
        ask(predict_every_position).about(
            question.model, question.text, masked=how == "hidden"
        ),
        num_passes=passes,
        num_tokens=size,
    )
    if found is None:
        return
    tokens = [found.tokenized.tokens[int(place)] for place in found.positions]
    show_figure(
        token_grid_figure(
            tokens,
            found.surprisal_bits,
            [
                _hint(int(rank), row[0])
                for rank, row in zip(found.ranks, found.top_tokens, strict=True)
            ],
            title=plain("masked.surprisal"),
        ),
        name="masked_positions_map",
        description=_described(found, tokens),
        columns={
            "masked.token": tokens,
            "masked.surprisal": found.surprisal_bits,
            "masked.rank": [int(r) or None for r in found.ranks],
            "masked.best": [row[0] for row in found.top_tokens],
            "masked.probability": np.exp(found.top_log_probs[:, 0]).tolist(),
            "masked.entropy": found.entropy_bits,
        },
        code=program(
            masked_sentences.EVERY_POSITION, **question.program, masked=how == "hidden"
        ),
    )


def _hint(rank: int, best: str) -> str:
    """What the pointer shows; 0 is the rank of a mask, where no word stands."""
    if not rank:
        return plain("masked.position_hover_mask", best=best)
    return plain("masked.position_hover", rank=rank, best=best)


def _described(found: EveryPosition, tokens: list[str]) -> str:
    known = np.nan_to_num(found.surprisal_bits, nan=-1.0)
    most = int(known.argmax())
    if known[most] < 0:
        return t("masked.positions_all_masks")
    places = {"bits": float(known[most]), "rank": int(found.ranks[most])}
    return t("masked.positions_described", token=tokens[most], **places)


_MOST_COLUMNS = 12  # a word needs the width of a word
_SIGNS = 2  # so many letters fit a cell on a phone


@panel
def explore_layers(question: Question) -> None:
    """Draws every layer's guess at every place, and a word or two on their way up."""
    st.markdown(t("masked.lens_intro"))
    st.caption(t("masked.lens_caveat"))
    words = tuple(dict.fromkeys(choose_words(question, "lens")))
    # All that is offered is asked for at once: another choice asks nothing.
    ids = tuple(dict.fromkeys((*likely_ids(question), *words)))
    lens = ask(read_layers)(question.model, question.text, word_ids=tuple(sorted(ids)))
    places = _choose_places(lens, question)
    tokens = [lens.tokenized.tokens[int(lens.positions[i])] for i in places]
    best = [[row[i][0] for i in places] for row in lens.top_tokens]
    probs = np.exp(lens.top_log_probs[:, places, 0])
    names = _rows(lens)
    # Words are wider than a phone has room for, which then scrolls them.
    are_words = max(len(word) for row in best for word in row) > _SIGNS
    with st.container(key="masked_lens_words" if are_words else None):
        # The last layer on top, as the text goes up through the network.
        show_map(
            "masked_lens",
            probs[::-1],
            names[::-1],
            tokens,
            ("masked.probability", "masked.after_layer", "masked.token"),
            t("masked.lens_described", layers=len(names) - 1),
            table={
                "masked.after_layer": [n for n in names for _ in places],
                "masked.token": [token for _ in names for token in tokens],
                "masked.best": [word for row in best for word in row],
                "masked.probability": probs.ravel(),
                "masked.entropy": lens.entropy_bits[:, places].ravel().tolist(),
            },
            words=best[::-1],
        )
    _show_ranks(lens, question, words)


def _rows(lens: LogitLens) -> list[str]:
    numbers = range(1, len(lens.top_ids))
    return [plain("masked.lens_input"), *map(str, numbers)]


def _choose_places(lens: LogitLens, question: Question) -> list[int]:
    """Which places of the lens to draw; the mask is among them at first."""
    total = len(lens.positions)
    if total <= _MOST_COLUMNS:
        return list(range(total))
    here = lens.positions.tolist().index(question.position)
    last = total - _MOST_COLUMNS
    start = choose_number(
        st.slider,
        "masked.lens_from",
        1,
        last + 1,
        min(max(here - _MOST_COLUMNS // 2, 0), last) + 1,
    )
    return list(range(start - 1, start - 1 + _MOST_COLUMNS))


def _show_ranks(lens: LogitLens, question: Question, words: tuple[int, ...]) -> None:
    """Draws the rank of words at the mask through the layers.

    The description speaks of the first of `words`, ids that `lens` was asked for.
    """
    place = lens.positions.tolist().index(question.position)
    rows = [lens.word_ids.tolist().index(word) for word in words]
    ranks = {
        ask(vocabulary)(question.model)[word]: lens.word_ranks[row, :, place]
        for word, row in zip(words, rows, strict=True)
    }
    names = _rows(lens)
    first, own = next(iter(ranks.items()))
    # The first layer from which on the word stays the best one.
    worse = np.flatnonzero(own > 1)
    since = int(worse[-1]) + 1 if len(worse) else 0
    arrives = t("masked.lens_never", word=first, rank=int(own[-1]))
    if since < len(own):
        arrives = t("masked.lens_since", word=first, row=names[since])
    columns: dict[str, list[object]] = {"masked.after_layer": [*names]}
    for word, row in zip(ranks, rows, strict=True):
        rank, probability = (
            plain(f"masked.{kind}_with", name=word) for kind in ("rank", "probability")
        )
        columns[rank] = lens.word_ranks[row, :, place].tolist()
        columns[probability] = np.exp(lens.word_log_probs[row, :, place]).tolist()
    show_figure(
        lines_figure(
            ranks,
            names,
            x_title=plain("masked.after_layer"),
            y_title=plain("masked.rank"),
            are_ranks=True,
        ),
        name="masked_lens_rank",
        description=arrives,
        columns=columns,
        code=program(
            masked_words.LENS,
            **question.program,
            words=tuple(ranks),
            position=question.position,
        ),
    )


_PAIRS = {
    "en": ("The keys to the cabinet are here.", "The keys to the cabinet is here."),
    "zh": ("我喝了一杯水。", "我喝了一座水。"),
}


def _score_sentences(model: str, kind: str) -> None:
    """Draws a text box or two, and the score of the text or of both."""
    variant = choose_named("masked.score_variant", _VARIANTS, "variant")
    boxes = _BOXES[kind]
    examples = _PAIRS[language_of(model)][: len(boxes)]
    texts = {
        name: type_other(f"masked.{label}", example, f"masked_score_{name}", box)
        for box, (name, label), example in zip(
            st.columns(len(boxes)), boxes.items(), examples, strict=True
        )
    }
    if not all(texts.values()):
        return
    read = [ask(Explorer.tokenize)(model, text, cut=True) for text in texts.values()]
    size = sum(one.num_tokens for one in read)
    places: dict[str, Any] = {**texts, "variant": variant}
    if kind == "sentence":
        asked = ask(score_sentence).about(model, **places)
        score = ask_soon("masked_sentence_score", asked, size, size)
        if score is not None:
            code = program(masked_sentences.SENTENCE_SCORE, model, **places)
            _show_sentence(score, code)
        return
    both = ask(score_minimal_pair).about(model, **places)
    pair = ask_soon("masked_minimal_pair", both, size, size / 2)
    if pair is not None:
        _show_pair(pair, program(masked_sentences.MINIMAL_PAIR, model, **places))


def _show_sentence(score: SentenceScore, code: Program) -> None:
    tokens = [score.tokenized.tokens[i] for i in score.positions]
    _show_totals((score,))
    weakest = int(score.log_probs.argmin())
    show_figure(
        signed_bars_figure(tokens, score.log_probs, plain("masked.log_prob")),
        name="masked_sentence_score",
        description=t(
            "masked.sentence_described",
            token=tokens[weakest],
            share=percent(np.exp(score.log_probs[weakest])),
        ),
        columns={
            "masked.token": tokens,
            "masked.log_prob": score.log_probs,
            "masked.rank": score.ranks,
        },
        code=code,
    )


def _show_totals(scores: tuple[SentenceScore, ...]) -> None:
    for box, score in zip(st.columns(len(scores)), scores, strict=True):
        total = t("masked.log_value", value=score.log_prob)
        below = t("masked.perplexity", value=score.perplexity)
        with box:
            show_numbers({"masked.total": (total, below)})


def _show_pair(pair: MinimalPair, code: Program) -> None:
    """Draws which of the two is preferred, and where that comes from."""
    _show_totals((pair.first, pair.second))
    winner = "first" if pair.difference > 0 else "second"
    st.markdown(
        t(f"masked.prefers_{winner}", value=abs(pair.difference))
        if pair.difference
        else t("masked.pair_equal")
    )
    columns: dict[str, list[Any]] = {}
    tokens, values = [], []
    for name, score, places in zip(
        ("first", "second"), (pair.first, pair.second), pair.aligned.T, strict=True
    ):
        read = [score.tokenized.tokens[position] for position in score.positions]
        # A token that the other sentence lacks is aligned with -1.
        tokens.append([[*read, ""][i] for i in places])
        values.append(np.append(score.log_probs, np.nan)[places])
        columns[f"masked.{name}_token"] = tokens[-1]
        columns[f"masked.{name}_log"] = values[-1].tolist()
    names = [a if a == b else f"{a} | {b}" for a, b in zip(*tokens, strict=True)]
    show_figure(
        signed_bars_figure(
            names, values[0] - values[1], plain("masked.first_less_second")
        ),
        name="masked_minimal_pair",
        description=t("masked.pair_described"),
        columns=columns,
        code=code,
    )


_KINDS = ("word", "sentence", "pair")
# By kind: the keys of the boxes' texts, by their own.
_BOXES = {
    "sentence": {"text": "sentence"},
    "pair": {"first": "first_sentence", "second": "second_sentence"},
}
_VARIANTS = ("within_word", "naive")
_MOST_WORDS = 50
_PIECES_A_WORD = 2  # about
_NUM_OFFERED = 3


@panel
def explore_scores(model: str, question: Question | None = None) -> None:
    """Draws the choice of what to score, and its score.

    Where there is no text, there is no `question`.
    """
    kind = choose_named("masked.score_kind", _KINDS, "score")
    st.markdown(t(f"masked.score_{kind}_intro"))
    if kind == "word":
        _score_words(question)
    else:
        _score_sentences(model, kind)


def _score_words(question: Question | None) -> None:
    if question is None:
        st.info(t("masked.needs_prediction"), icon=":material/edit:")
        return
    mask = question.mask
    if mask is None:
        st.info(t("masked.needs_mask"), icon=":material/touch_app:")
        return
    typed = type_linked(
        st.text_input,
        "masked.score_words",
        listed(mask.vocabulary[index] for index in mask.words_alone(_NUM_OFFERED)),
        max_chars=1000,
    )
    words = [word for word in re.split(r"[,，、;；\s]+", typed) if word]
    words = list(dict.fromkeys(words))[:_MOST_WORDS]
    if not words:
        return
    asked = (question.model, question.text, tuple(words), mask.index)
    scores = ask_soon(
        "masked_word_scores",
        ask(score_known_words).about(*asked),
        num_passes=_PIECES_A_WORD * len(words),
        num_tokens=question.tokenized.num_tokens,
    )
    if scores is None:
        return
    scored = tuple(score.word for score in scores)
    left_out = [word for word in words if word not in scored]
    if left_out:
        said = t("masked.words_without_score", words=listed(left_out))
        st.warning(said, icon=":material/question_mark:")
    if scored:
        of = {**question.program, "words": scored, "mask_index": mask.index}
        code = program(masked_sentences.WORD_SCORES, **of)
        _show_words(sorted(scores, key=lambda score: -score.log_prob), code)


def _show_words(order: list[WordScore], code: Program) -> None:
    values = np.array([score.log_prob for score in order])
    best, words = order[0], [score.word for score in order]
    # A row for each piece of each word, so that every number stays one in a file.
    times = [len(score.tokens) for score in order]
    show_figure(
        signed_bars_figure(words, values, plain("masked.log_prob")),
        name="masked_word_scores",
        description=t(
            "masked.words_described",
            word=best.word,
            share=percent(np.exp(best.log_prob)),
            pieces=len(best.tokens),
        ),
        columns={
            "masked.word": np.repeat(words, times),
            "masked.probability": np.repeat(np.exp(values), times),
            "masked.log_prob": np.repeat(values, times),
            "masked.pieces": [token for score in order for token in score.tokens],
            "masked.piece_ranks": np.concatenate([score.ranks for score in order]),
            "masked.piece_log_probs": np.concatenate(
                [score.log_probs for score in order]
            ),
        },
        code=code,
    )
