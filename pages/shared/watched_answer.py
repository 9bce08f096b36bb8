"""The answer of the model that experiments watch: its choice, before and after."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from bertviz_core.analysis.sampling import rank_order
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import (
    SparsePrediction,
    SwitchedPrediction,
    Target,
)
from bertviz_core.experiments.whole_model import open_answer
from bertviz_core.explorer import Explorer
from bertviz_core.figures.bars import effect_bars_figure
from bertviz_core.figures.labels import with_minus
from bertviz_core.figures.masked_word import percent
from bertviz_core.trace import Texts
from pages.shared.answers import ask
from pages.shared.choices import (
    choose_linked,
    choose_linked_or_none,
    choose_piece,
    follow_default,
    id_of,
)
from pages.shared.export import show_figure
from pages.shared.language import Markdown, escape, plain, t
from pages.shared.panel import Program, show_numbers

_NUM_OFFERED = 50  # likeliest words in the list; any other may be typed
_IS_NEXT = 0  # google-research/bert, `create_pretraining_data.py`


@dataclass(frozen=True)
class Watched:
    """A target with its name, where the model may say a number and no probability."""

    target: Target
    name: str
    is_number: bool = False

    @property
    def literals(self) -> dict[str, Any]:
        """The target in a program, see `snippets.attention`."""
        target = self.target
        return {"kind": target.head, "index": target.index, "position": target.position}


def choose_target(
    model: str, texts: Texts, places: Mapping[int, str], page: str
) -> Watched | None:
    """Draws the choice of an answer to watch; says so, if there is none: `None`.

    `places` are the tokens whose word may be watched, by their positions, each with
    what that answer is called; the keys of the widgets begin with `page`.
    """
    choices = _choices(model, texts, places)
    if not choices:
        heads = ask(Explorer.info)(model).heads
        missing = next((name for name in ("mlm", "nsp") if name in heads), "head")
        st.info(t(f"attention.no_answer_{missing}"), icon=":material/touch_app:")
        return None
    what_box, word_box = st.columns(2)
    what = choose_linked(
        what_box.selectbox,
        "attention.target",
        {str(index): one.name for index, one in enumerate(choices)},
        key=f"{page}_target",
    )
    chosen = choices[int(what)]
    if chosen.target.head != "mlm":
        return chosen
    words = ask(vocabulary)(model)
    with word_box:
        index = choose_piece(
            "attention.target_word",
            words,
            _likely(model, texts, chosen.target),
            key=f"{page}_word",
            unknown="attention.unknown_word",
        )
    return Watched(Target("mlm", index, chosen.target.position), words[index])


def choose_contrast(model: str, texts: Texts, watched: Watched) -> Watched | None:
    """Draws the choice of another answer of the head to hold the watched one against.

    `None` if none is chosen, or if there is none, as for a number.
    """
    target, names = watched.target, _answer_names(model, watched)
    how: dict[str, Any]
    is_word = target.head == "mlm"
    offered = _likely(model, texts, target) if is_word else range(len(names))
    others = {index: names[index] for index in offered if index != target.index}
    if not others:
        return None
    if is_word:
        key, how = "attention_contrast", {"accept_new_options": True, "index": None}
        typed = follow_default(key, None)  # any word may be
        options = list(dict.fromkeys([*others.values(), *filter(None, [typed])]))
    else:
        # Without a vocabulary the names depend on the language, the numbers do not.
        key, options = "attention_other_answer", [str(index) for index in others]
        how = {"format_func": lambda option: names[int(option)]}
    how |= {"placeholder": t("attention.no_contrast")}
    label = "attention.contrast"
    chosen = choose_linked_or_none(st.selectbox, label, options, key=key, **how)
    if chosen is None:
        return None
    index = id_of(names, chosen) if is_word else int(chosen)
    if index is None or index == target.index:
        said = t("attention.unknown_contrast", word=chosen)
        st.warning(said, icon=":material/question_mark:")
        return None
    return Watched(Target(target.head, index, target.position), names[index])


def _choices(model: str, texts: Texts, places: Mapping[int, str]) -> list[Watched]:
    info = ask(Explorer.info)(model)
    choices = []
    if "mlm" in info.heads:
        choices += [Watched(Target("mlm", 0, at), name) for at, name in places.items()]
    if "nsp" in info.heads and texts.pair:
        choices.append(Watched(Target("nsp", _IS_NEXT), plain("attention.target_nsp")))
    if "classifier" in info.heads:
        is_number = len(info.labels) == 1
        key = f"attention.target_{'number' if is_number else 'class'}"
        choices += [
            Watched(Target("classifier", index), plain(key, label=label), is_number)
            for index, label in enumerate(info.labels)
        ]
    return choices


def _likely(model: str, texts: Texts, target: Target) -> list[int]:
    """Ids of the likeliest words at a token, best first."""
    logits = ask(open_answer)(model, texts, target.position)
    words = len(ask(vocabulary)(model))
    best: list[int] = rank_order(logits[:words])[:_NUM_OFFERED].tolist()
    return best


def _answer_names(model: str, watched: Watched) -> tuple[str, ...]:
    """What the answers of the target's head are called, by index."""
    if watched.target.head == "mlm":
        return ask(vocabulary)(model)
    if watched.target.head == "nsp":
        return plain("attention.is_next"), plain("attention.is_random")
    return ask(Explorer.info)(model).labels


def show_before_and_after(
    found: SwitchedPrediction | SparsePrediction,
    model: str,
    watched: Watched,
    name: str,
    code: Program | None = None,
) -> None:
    """Draws a prediction twice, the difference, and the likeliest answers of both.

    For `name` and `code` see `show_figure`.
    """
    before, after = found.before, found.after
    if watched.is_number:
        kind, described = "number", "attention.number_described"
        was, now = (t("attention.number", value=one.value) for one in (before, after))
        change = t("attention.number_change", value=found.delta_logit)
        changes: dict[str, str | tuple[str, str]] = {"attention.delta": change}
    else:
        kind, described = "probability", "attention.answers_described"
        was, now = percent(before.probability), percent(after.probability)
        ranks = t("attention.rank_from_to", before=before.rank, after=after.rank)
        changes = {
            "attention.delta_p": t(
                "attention.points", value=100 * found.delta_probability
            ),
            "attention.delta_logit": (with_minus(f"{found.delta_logit:+z.4f}"), ranks),
        }
    word = Markdown(escape(watched.name, 40))
    said = {"attention.before": was, "attention.after": now}
    show_numbers({**said, **changes}, word=word)
    every_name = _answer_names(model, watched)
    names = [every_name[index] for index in found.answers.ids.tolist()]
    value = plain(f"attention.table_{kind}")
    when = [plain(f"attention.table_{one}") for one in ("before", "after")]
    show_figure(
        effect_bars_figure(
            names,
            *reversed(found.answers.values),
            title=value,
            measured_name=when[1],
            estimated_name=when[0],
        ),
        name=name,
        description=t(described, count=len(names)),
        columns={
            # A row for each answer before, then for each after.
            "attention.table_when": [one for one in when for _ in names],
            "attention.table_answer": names * 2,
            "attention.table_rank": found.answers.ranks.ravel(),
            value: found.answers.values.ravel().tolist(),
        },
        code=code,
    )
