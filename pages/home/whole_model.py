"""The picture of the whole model: what is drawn, opened, switched off and typed over.

The picture is large and stays while a visitor looks around in it; what is answered to
a click is small and comes by a second component.
"""

import functools
import hashlib
import re
from typing import Any

import streamlit as st

from bertviz_core.analysis.aggregation import follow_down
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.experiments.cause_results import Edge, Switches, Target
from bertviz_core.experiments.switching import switch_off
from bertviz_core.experiments.whole_model import (
    MOST_SHOWN,
    Opened,
    WholeModel,
    open_all,
    open_answer,
    open_part,
    remove_tokens,
    whole_model,
)
from bertviz_core.explorer import Explorer
from bertviz_core.figures.attention_export import component_html
from bertviz_core.figures.masked_word import percent
from bertviz_core.figures.whole_model import answer_payload, whole_model_payload
from bertviz_core.mask_text import MaskedText, carry_originals, split_words, toggle_mask
from bertviz_core.trace import TokenizedText
from pages.shared.answers import ask, ask_soon
from pages.shared.choices import follow_default, write_linked
from pages.shared.components import component, save_drawn, teller
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import current_language, plain, texts_of
from pages.shared.navigation import link_to
from pages.shared.own_text import HEAD, Reading, change_sentence, focus_on, read_text
from pages.shared.panel import Columns, download, show_number_tools

_component = component(
    "whole_model",
    'showWhole(parentElement, data, (choice) => setStateValue("choice", choice))',
    "whole-host",
)
_answers = teller("bert-explorer-whole")

_KEY = "whole_model"
# Of the session and of the address: what is opened, and what is off, by their names.
OPEN, OFF, RAW = "whole_open", "whole_off", "whole_raw"
_PART = re.compile(
    r"embeddings|mlm\.logits|layer\.(?P<layer>\d{1,3})(\.(?P<mlp>mlp)"
    r"|\.head\.(?P<head>\d{1,3})|\.edge\.(?P<to>\d{1,4})\.(?P<source>\d{1,4}))?",
    re.ASCII,
)


def draw_whole_model(reading: Reading) -> None:
    """Draws the picture, with what was opened and switched off in it.

    The piece in focus is followed.
    """
    model, texts, focus = *reading.asked, reading.token
    read = reading.tokenized
    # A longer text is followed from its focus by the core, not by the browser.
    asked = focus if read.num_tokens > MOST_SHOWN else None
    picture = ask(whole_model)(model, texts, asked)
    name = hashlib.blake2s(repr((model, texts)).encode(), digest_size=8).hexdigest()
    _read_address(model, name)
    said: dict[str, Any] = {
        "id": name,
        "text": " · ".join(filter(None, (texts.text, texts.pair))),
        "file": plain("whole_model.file"),
        "words": texts_of("whole_model"),
        # The masks that hide a word: those of the second text hide none.
        "hides": [
            int(token)
            for token, word in zip(
                read.mask_positions, read_text().originals, strict=False
            )
            if word
        ],
    }
    take = functools.partial(_take, name, read)
    payload = whole_model_payload(picture, **said)
    _component(data=payload, key=_KEY, on_choice_change=take)
    opened = None
    with shown_to_user(stop=False):
        opened = _opened(reading, st.session_state[OPEN])
    if opened is None:
        st.session_state[OPEN] = ""
    told: dict[str, Any] = {"id": name, **_told(reading, picture)}
    words = ask(vocabulary)(model) if opened is not None else ()
    _answers(data=answer_payload(told, opened, words), key=f"{_KEY}_answers")

    def alive() -> bytes:
        # A click has no session: nothing that needs one is asked here.
        inside = client().ask(open_all)(model, texts, focus)
        names = client().ask(vocabulary)(model)
        whole = whole_model_payload(picture, inside, names, told=told, **said)
        title = plain("whole_model.file_title", **said)
        return component_html("whole_model", whole, title, current_language())

    file = plain("app.html_file", name=said["file"])

    def save() -> None:
        save_drawn(_KEY)
        download("app.download_html", alive, file, "text/html", f"{_KEY}_html")

    show_number_tools(
        _KEY,
        lambda: _columns(picture, focus),
        plain(
            "whole_model.alt",
            count=len(picture.attention[0]),
            layers=len(picture.shares),
        ),
        files=save,
    )
    _link_to_page(st.session_state[OPEN])


def _columns(picture: WholeModel, focus: int) -> Columns:
    """A row for each height: the guess there, and what comes from each token."""
    place, is_raw = focus - picture.first, bool(st.session_state[RAW])
    shares = picture.attention if is_raw else picture.shares
    reached = picture.looked if is_raw else picture.reached
    if focus != picture.focus:
        reached = follow_down(shares, place)
    layers = range(1, len(reached))
    names = [plain("whole_model.layer", layer=layer) for layer in layers]
    shown = range(picture.first, picture.first + shares.shape[-1])
    tokens = [f"{i + 1} {picture.tokenized.tokens[i]}" for i in shown]
    table = {"whole_model.height": [plain("whole_model.embeddings"), *names]}
    if picture.guess_probs.size:
        title = plain("whole_model.guess_of", piece=picture.tokenized.tokens[focus])
        table[title] = [
            f"{words[place][0]} {percent(probs[place, 0])}"
            for words, probs in zip(picture.guesses, picture.guess_probs, strict=True)
        ]
    return {**table, **dict(zip(tokens, reached.T.tolist(), strict=True))}


def _read_address(model: str, name: str) -> None:
    """Takes what a link opens and switches off.

    Parts are those of one model, curves those of one text.
    """
    before = st.session_state.get(f"{_KEY}_of", (model, name))
    st.session_state[f"{_KEY}_of"] = model, name
    if before[0] != model:
        st.session_state[OPEN] = st.session_state[OFF] = ""
    elif before[1] != name:
        off = st.session_state[OFF].split()
        st.session_state[OFF] = " ".join(one for one in off if ".edge." not in one)
    for key, read in ((OPEN, _part_with), (OFF, str), (RAW, str)):
        write_linked(key, follow_default(key, "", read), "")


def _part_with(name: str) -> str:
    """The part that opens for an activation of `model.taps`, such as a tour names."""
    place, *rest = name.split(".")
    if place in ("embeddings", "mlm"):
        return {"embeddings": "embeddings", "mlm": "mlm.logits"}[place]
    if "attention" in rest:
        return ".".join(name.split(".")[:2])
    return name[: name.index(".mlp") + len(".mlp")] if "mlp" in rest else name


def _take(name: str, read: TokenizedText) -> None:
    """What the picture says: a choice, or another word in the text. A callback."""
    said: dict[str, Any] = (st.session_state.get(_KEY) or {}).get("choice") or {}
    if said.get("id") != name:
        return
    st.session_state[f"{_KEY}_turn"] = said.get("turn", 0)
    st.session_state[OPEN] = str(said.get("open") or "")
    st.session_state[OFF] = " ".join(map(str, said.get("off") or ()))
    st.session_state[RAW] = "true" if said.get("raw") else ""
    focus = said.get("focus")
    if isinstance(focus, int) and 0 <= focus < read.num_tokens:
        focus_on(focus)
    edit = said.get("edit")
    # It comes again with what is clicked before the next picture is there.
    if edit and edit["turn"] != st.session_state.get(f"{_KEY}_edited"):
        st.session_state[f"{_KEY}_edited"] = edit["turn"]
        _type_over(read, int(edit["token"]), edit.get("word"))


def _type_over(read: TokenizedText, token: int, word: str | None) -> None:
    """Puts a word in the place of another; without one, hides it or puts it back."""
    if not 0 <= token < read.num_tokens or read.is_added[token]:
        return
    is_pair = bool(read.token_type_ids[token])
    text = (read.pair if is_pair else read.text) or ""
    start = int(read.offsets[token, 0])
    words = split_words(text)
    index = next(i for i, one in enumerate(words) if one.end > start)
    before = MaskedText(text, ("",) * text.count("[MASK]")) if is_pair else read_text()
    if word is None:
        changed = toggle_mask(before, index)
    else:
        place = words[index]
        edited_text = text[: place.start] + word + text[place.end :]
        changed = carry_originals(before, edited_text)
    edited = is_pair, words[index].start
    if is_pair:
        change_sentence(read_text(), changed.text, edited)
    else:
        change_sentence(changed, edited=edited)


def _told(read: Reading, picture: WholeModel) -> dict[str, Any]:
    """What the picture is told besides: what is chosen, and what that changes."""
    num_tokens = picture.tokenized.num_tokens
    off = [
        name
        for name in st.session_state[OFF].split()
        if _can_be_off(read.model, name, num_tokens)
    ]
    told: dict[str, Any] = {
        "turn": st.session_state.get(f"{_KEY}_turn", 0),
        "focus": read.token,
        "open": st.session_state[OPEN],
        "raw": bool(st.session_state[RAW]),
        "off": off,
        "switched": None,
        "agreement": None,
    }
    if not picture.guess_probs.size:
        return told
    with shown_to_user(stop=False):
        if off:
            told["switched"] = _switched(read, _switches(off))
        told["agreement"] = _agreement(read)
    return told


def _opened(read: Reading, name: str) -> Opened | None:
    """What is inside of a part; `None` where there is no such part."""
    part = _PART.fullmatch(name)
    if part is None or part["to"]:
        return None
    layer, head = int(part["layer"] or 0), int(part["head"] or 0)
    if not _is_there(read.model, layer, head):
        return None
    return ask(open_part)(*read.asked, name, read.token)


def _is_there(model: str, layer: int, head: int) -> bool:
    config = ask(Explorer.info)(model).config
    return layer < config.num_hidden_layers and head < config.num_attention_heads


def _can_be_off(model: str, name: str, num_tokens: int) -> bool:
    """Whether something is called so that can be switched off."""
    part = _PART.fullmatch(name)
    if part is None or not part["layer"]:
        return False
    ends = [int(part[end]) for end in ("to", "source") if part[end]]
    is_text = all(end < num_tokens for end in ends)
    return is_text and _is_there(model, int(part["layer"]), int(part["head"] or 0))


def _switches(names: list[str]) -> Switches:
    """What is off, by the names of `model.taps`; a layer is both of its halves."""
    found: dict[str, list[Any]] = {
        "heads": [], "attention": [], "feed_forward": [], "edges": []
    }  # fmt: skip
    for part in filter(None, map(_PART.fullmatch, names)):
        layer = int(part["layer"])
        if part["head"]:
            found["heads"].append((layer, int(part["head"])))
        elif part["to"]:
            edge = Edge(int(part["to"]), int(part["source"]), layer)
            found["edges"].append(edge)
        else:
            found["feed_forward"].append(layer)
            found["attention"].extend([] if part["mlp"] else [layer])
    return Switches(**{name: tuple(parts) for name, parts in found.items()})


def _switched(read: Reading, switches: Switches) -> list[dict[str, Any]]:
    """The likeliest words before and after; what is likeliest in either comes first."""
    model, texts, focus = *read.asked, read.token
    best = int(ask(open_answer)(model, texts, focus).argmax())
    target = Target("mlm", best, focus)
    found = ask(switch_off)(model, texts.text, target, switches, texts.pair)
    words, values = ask(vocabulary)(model), found.answers.values
    rows = zip(found.answers.ids, *values, strict=True)
    return sorted(
        (
            {"word": words[index], "before": float(before), "after": float(after)}
            for index, before, after in rows
        ),
        key=lambda row: -max(row["before"], row["after"]),
    )


def _agreement(read: Reading) -> dict[str, Any] | None:
    num_tokens = read.tokenized.num_tokens
    passes = min(num_tokens, MOST_SHOWN)
    question = ask(remove_tokens).about(*read.asked, read.token)
    removed = ask_soon(f"{_KEY}_proof", question, passes, num_tokens)
    if removed is None:
        return None
    moved = zip(removed.tokens.tolist(), removed.moved.tolist(), strict=True)
    return {
        "value": removed.agreement,
        "count": len(removed.tokens),
        "moved": [list(pair) for pair in moved],
    }


def _link_to_page(name: str) -> None:
    """Leads to the page about what is opened, in the same state."""
    if (part := _PART.fullmatch(name)) is None:
        return
    page, params = "layers", {}
    if part["head"]:
        page = "attention"
        params = {
            key: str(int(part[name]) + 1)
            for key, name in zip(HEAD, ("layer", "head"), strict=True)
        }
    elif part["layer"]:
        half = "feed_forward_output" if part["mlp"] else "attention_probs"
        params = {"layers_step": f"layer_{part['layer']}/{half}"}
    else:
        page = "embeddings" if name == "embeddings" else "masked_word"
    said = plain(f"app.page_{page}")
    link_to(page, "whole_model.open_page", "arrow_forward", params, page=said)
