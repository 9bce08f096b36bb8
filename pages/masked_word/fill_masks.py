"""Several masks filled together: step by step, as exact pairs, with one whole word."""

import functools
from typing import Any

import numpy as np
import streamlit as st

from bertviz_core.analysis.wordlists import is_piece
from bertviz_core.chinese_words import as_one_mask, neighbouring_masks
from bertviz_core.experiments.joint_filling import best_pairs, fill_masks
from bertviz_core.experiments.scoring import score_known_words
from bertviz_core.experiments.whole_word import find_whole_words
from bertviz_core.experiments.word_results import FillStep, JointFilling, WholeWords
from bertviz_core.explorer import Explorer
from bertviz_core.figures.masked_word import candidates_figure, percent
from bertviz_core.figures.sentence_pairs import two_sentences_figure
from bertviz_core.mask_text import MASK
from bertviz_core.snippets import masked_words
from bertviz_core.trace import TokenizedText
from pages.masked_word.editor import offer_insertion, take_insertion, take_two_masks
from pages.masked_word.question import Question
from pages.shared.answers import ask, ask_soon
from pages.shared.choices import choose_linked, choose_named
from pages.shared.errors import shown_to_user
from pages.shared.export import show_figure, show_map, show_table
from pages.shared.language import Markdown, escape, in_a_row, listed, plain, t, words_of
from pages.shared.models import language_of
from pages.shared.own_text import read_text
from pages.shared.panel import Program, button, panel, program
from pages.shared.player import play_steps

_TOP_K = 20
_NUM_WRITTEN = 8  # pairs in the picture that carry their words


def show_pairs(question: Question) -> None:
    """Draws the best pairs as a table and a picture."""
    size = question.tokenized.num_tokens
    asked = ask(best_pairs).about(question.model, question.text, top_k=_TOP_K)
    pairs = ask_soon("masked_pairs", asked, 3 * _TOP_K, size)
    if pairs is None:
        return
    numbers = {
        "masked.forward": np.exp(pairs.log_prob_forward),
        "masked.backward": np.exp(pairs.log_prob_backward),
        "masked.apart": np.exp(pairs.log_prob_independent),
    }
    names = "masked.first_word", "masked.second_word"
    words = dict(zip(names, zip(*pairs.tokens, strict=True), strict=True))
    shown = {name: list(map(percent, row)) for name, row in numbers.items()}
    show_table(words | shown, plain("masked.pairs_table"))
    bounds = np.exp([pairs.bound_forward, pairs.bound_backward])
    forward, backward = map(percent, bounds)
    st.caption(t("masked.pairs_bound", forward=forward, backward=backward))
    show_figure(
        two_sentences_figure(
            [f"{first} · {second}" for first, second in pairs.tokens],
            pairs.log_prob_forward,
            pairs.log_prob_backward,
            range(min(_NUM_WRITTEN, len(pairs.tokens))),
            title_a=plain("masked.forward"),
            title_b=plain("masked.backward"),
        ),
        name="masked_pairs",
        description=t("masked.pairs_described", count=len(pairs.tokens)),
        columns=words | numbers,
        code=program(masked_words.PAIRS, **question.program, top_k=_TOP_K),
    )
    apart = np.abs(pairs.log_prob_forward - pairs.log_prob_backward).max()
    st.caption(t("masked.pairs_lesson", factor=float(np.exp(apart))))


MODES = ("most_confident_first", "left_to_right", "independent", "pairs")
_STEPS_A_SECOND = 1.1
_NUM_ALTERNATIVES = 4


@panel
def explore_filling(question: Question) -> None:
    """Draws the choice of an order, and how the masks are filled in it."""
    st.markdown(t("masked.fill_intro"))
    mode = choose_named("masked.fill_mode", MODES, "fill")
    st.caption(t(f"masked.fill_{mode}_help"))
    num_masks = len(question.tokenized.mask_positions)
    if num_masks == 1 or (mode == "pairs" and num_masks != 2):
        kind = "pairs_need_two" if mode == "pairs" else "fill_one_mask"
        st.info(t(f"masked.{kind}"), icon=":material/info:")
        if button(
            "masked.two_masks",
            "masked_two_masks",
            "",
            take_two_masks,
            language_of(question.model, question.text),
        ):
            st.rerun()  # the text has changed, and with it everything above
    if mode == "pairs":
        if num_masks == 2:
            show_pairs(question)
        return
    filling = ask_soon(
        "masked_fill",
        ask(fill_masks).about(question.model, question.text, mode),
        num_passes=1 if mode == "independent" else num_masks,
        num_tokens=question.tokenized.num_tokens,
    )
    if filling is None:
        return
    last = len(filling.steps)
    play_steps(
        *("masked_fill_step", "masked.fill_step", last),
        draw=functools.partial(_show_step, filling),
        steps_a_second=_STEPS_A_SECOND,
        default=last,
    )
    columns = _show_table(filling)
    code = program(masked_words.FILLING, **question.program, mode=mode)
    _show_confidences(filling, columns, code)


def _show_step(filling: JointFilling, step: int) -> None:
    with st.container(border=True):
        st.markdown(filled_sentence(filling.tokenized, filling.steps[:step]))
    if step:
        done = filling.steps[step - 1]
        st.caption(
            t(
                "masked.fill_did",
                step=step,
                word=done.token,
                mask=done.mask_index + 1,
                share=percent(np.exp(done.log_prob)),
            )
        )


def filled_sentence(tokenized: TokenizedText, steps: tuple[FillStep, ...]) -> Markdown:
    """The text with these masks filled, the last one marked; as Markdown."""
    tokens = {step.mask_index: step.token for step in steps}
    last = steps[-1].mask_index if steps else None
    parts: list[str] = []
    end = 0
    for index, position in enumerate(tokenized.mask_positions):
        start, stop = (int(place) for place in tokenized.offsets[position])
        token = tokens.get(index, MASK)
        between = _spaced(tokenized.text[end:start])
        parts.append(between.rstrip(" ") if is_piece(token) else between)
        word = escape(token.removeprefix("##") or token, 40)
        # Two words in asterisks side by side would not be two bold words.
        marked = f":{'gray' if index in tokens else 'blue'}-badge[{word}]"
        parts.append(f":green-badge[**{word}**]" if index == last else marked)
        end = stop
    parts.append(_spaced(tokenized.text[end:]))
    return Markdown("".join(parts))


def _spaced(text: str) -> str:
    """A part of a sentence as Markdown, which alone would lose its outer spaces."""
    if not text.strip():
        return " " * bool(text)
    before, after = (" " * side.isspace() for side in (text[0], text[-1]))
    return f"{before}{escape(text, 10**6)}{after}"


def _show_table(filling: JointFilling) -> dict[str, list[Any]]:
    """The steps in words; returns them in numbers."""
    steps = filling.steps
    probs = [float(np.exp(step.log_prob)) for step in steps]
    columns: dict[str, list[Any]] = {
        "masked.step": list(range(1, len(steps) + 1)),
        "masked.mask": [step.mask_index + 1 for step in steps],
        "masked.word": [step.token for step in steps],
        "masked.probability": probs,
        "masked.alternatives": [_alternatives(step) for step in steps],
    }
    shown = columns | {"masked.probability": list(map(percent, probs))}
    show_table(shown, plain("masked.fill_table"))
    joint = f"{np.exp(filling.log_prob):.3g}"
    said = [t("masked.fill_joint", joint=joint, log_prob=filling.log_prob)]
    if len(steps) > 1 and filling.mode != "independent":
        said.append(t("masked.fill_other_order"))
    st.caption(in_a_row(said))
    return columns


def _show_confidences(
    filling: JointFilling, columns: dict[str, list[Any]], code: Program
) -> None:
    """How sure the model was of each open mask before each step."""
    steps = filling.steps
    sure = np.stack([step.confidences for step in steps])  # [steps, masks]
    said = [["" if np.isnan(p) else percent(float(p)) for p in row] for row in sure]
    show_map(
        "masked_filling",
        sure,
        range(1, len(steps) + 1),
        range(1, sure.shape[1] + 1),
        ("masked.probability", "masked.step", "masked.mask"),
        t("masked.fill_described"),
        table=columns,
        code=code,
        words=said,
    )


def _alternatives(step: FillStep) -> str:
    pairs = zip(step.top_tokens, step.top_log_probs, strict=True)
    some = list(pairs)[1 : 1 + _NUM_ALTERNATIVES]
    return listed(f"{word} {percent(float(np.exp(p)))}" for word, p in some)


_SIZES = ("1", "2", "3", "4")
_SIZE = "masked_whole_size"
_KINDS = {"zh": "characters", "en": "pieces"}
_MOST_SHOWN = 20
_BEAM = 32  # of `experiments.whole_word.find_whole_words`


@panel
def explore_whole_words(question: Question) -> None:
    """Draws the choice of a length, and the likeliest words of it."""
    kind = _KINDS[language_of(question.model, question.text)]
    st.markdown(t(f"masked.whole_{kind}_intro"))
    masks = range(question.mask_index, question.mask_index + 1)
    if kind == "characters":
        masks = neighbouring_masks(question.tokenized, question.mask_index)
    # At first as long as the masks that stand side by side.
    first = str(min(len(masks), len(_SIZES))) if len(masks) > 1 else "2"
    label = f"masked.whole_{kind}"
    how: dict[str, Any] = {"key": _SIZE, "required": True}
    size = int(choose_linked(st.segmented_control, label, _SIZES, first, **how))
    if len(masks) > 1:
        st.caption(t("masked.whole_run", count=len(masks)))
    positions = ask(Explorer.info)(question.model).config.max_position_embeddings
    text = as_one_mask(question.tokenized, masks, positions + 1 - size)
    found = ask_soon(
        "masked_whole",
        ask(find_whole_words).about(question.model, text, size, kind, masks[0]),
        num_passes=1 + _BEAM * (size - 1),
        num_tokens=question.tokenized.num_tokens + size,
    )
    if found is None:
        return
    chosen = {"text": text, "num_pieces": size, "kind": kind, "mask_index": masks[0]}
    code = program(masked_words.WHOLE_WORDS, question.model, **chosen)
    if not found.words:
        st.info(t("masked.whole_none"), icon=":material/search_off:")
    else:
        shown = found.best(_MOST_SHOWN)
        _show(shown, code)
        offer_insertion(read_text(), masks, shown.words, "masked_whole_insert")
    _compare_hidden(question.model, text, masks, found)
    if take_insertion():
        st.rerun()  # the text has changed, and with it everything above


def _show(found: WholeWords, code: Program) -> None:
    probs = np.exp(found.log_prob)
    words = list(found.words)
    show_figure(
        candidates_figure(words, probs, found.log_prob, _words),
        name="masked_whole_words",
        description=t(
            "masked.whole_described",
            word=words[0],
            share=percent(probs[0]),
            bound=percent(np.exp(found.bound)),
        ),
        columns={
            "masked.word": words,
            "masked.pieces": [" ".join(row) for row in found.tokens],
            "masked.probability": probs,
        },
        code=code,
    )


def _words(name: str) -> str:
    """What the figure says: of a whole word there is no logit."""
    if name == "logit":
        return plain("masked.log_prob")
    return words_of("masked_word")(name)


def _compare_hidden(model: str, text: str, masks: range, found: WholeWords) -> None:
    """Says how likely the word was that the reader hid, if one is known."""
    masked = read_text()
    hidden = masked.originals[masks.start : masks.stop]
    if len(hidden) != len(masks) or not all(hidden):
        return
    word = "".join(hidden)
    if MASK in word:
        return
    with shown_to_user(stop=False):
        scores = ask(score_known_words)(model, text, (word,), masks[0])
        if not scores:
            st.markdown(t("masked.words_without_score", words=word))
            return
        (score,) = scores
        written = "".join(token.removeprefix("##") for token in score.tokens)
        share = percent(np.exp(score.log_prob))
        if written in found.words:
            rank = 1 + found.words.index(written)
            said = t("masked.whole_hidden", word=word, share=share, rank=rank)
        else:
            places = {"word": word, "share": share, "pieces": len(score.tokens)}
            said = t("masked.whole_hidden_elsewhere", **places)
        st.markdown(said)
