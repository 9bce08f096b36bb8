"""Choosing a model: the picker in the sidebar, downloads, and what may be chosen."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import streamlit as st

from bertviz_core.analysis.wordlists import is_cjk
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine.model_tasks import download_model, remove_upload
from bertviz_core.environment import models_policy
from bertviz_core.errors import BertVizError, CheckpointError
from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import MASK
from bertviz_core.trace import ModelEntry, TokenizedText
from pages.shared.answers import (
    Wording,
    ask,
    ask_anew_if_changed,
    ask_job,
    chinese_share,
    forget_job,
    forget_models,
    installed_models,
    uploaded_models,
)
from pages.shared.choices import own_texts
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.language import LANGUAGES, current_language, t
from pages.shared.navigation import is_arrival, keep
from pages.shared.page_head import model_at_work
from pages.shared.visitor import hold, owner

_PLACE = "download"


def offer_download(name: str) -> ModelEntry | None:
    """Draws a download: a button first, then how far it is, then how it ended.

    `name` may end in "@revision"; the id of the model that is returned holds the
    commit.
    """
    entry: ModelEntry | None = ask_job(
        _PLACE,
        t("app.download_model"),
        ask(download_model).about(name),
        wording=Wording(
            before=lambda: st.info(
                t("app.not_here_yet", model=name), icon=":material/cloud_download:"
            ),
            working=lambda share: t("app.downloading", name=name, share=share),
            stopped=lambda: t("app.cancelled"),
        ),
    )
    if entry is not None:
        forget_job(_PLACE)
        forget_models()
    return entry


# Of the session, and of a link that opens a page with a model.
OPEN = _KEY = "model"
_NEXT = "next_model"
_BY_HAND = "model_chosen_by_hand"
_UPLOADS = "uploaded_models"
_DEFAULT_BEFORE = "default_model_before"

# The id of an upload, or of a training, opens it, so whoever has the address may.
_OWN_ID = re.compile(r"upload:[0-9a-f]{16,64}|run:[0-9a-f]{32}")
# "name", "owner/name", either with "@revision".
# Source: huggingface_hub, `validate_repo_id`; a revision is a branch, tag or commit.
_HUB_NAME = re.compile(r"[\w.-]{1,96}(/[\w.-]{1,96})?(@[\w./-]{1,96})?")

# Shares of Chinese pieces in a vocabulary: an English one has a few that stood in its
# texts, a Chinese one hardly anything else, one of many languages lies between.
_LEAST_CHINESE, _MOSTLY_CHINESE = 0.05, 0.5
_WORD = re.compile(r"[^\W\d_]+")


def model_picker() -> str:
    """Draws the choice in the sidebar and makes sure that it can be opened.

    Who has chosen none gets one that reads the language of the interface. The choice
    is part of the address. One that cannot be opened ends in a sentence and an offer of
    the default; the page stops there.
    """
    with shown_to_user(), model_at_work(at_start_only=True):
        entries = known_models()
        default = default_model()
    _follow_language(default)
    if _NEXT in st.session_state:
        choose(st.session_state.pop(_NEXT))
    linked = st.query_params.get(_KEY)
    if st.session_state.get(_KEY) is None or (linked and is_arrival()):
        choose(linked or default)
    keep(_KEY)
    # Also one that was typed or came with the address.
    typed = st.session_state.get(_KEY) or st.query_params.get(_KEY)
    st.sidebar.selectbox(
        t("app.model"),
        list(dict.fromkeys([*entries, *filter(None, [typed])])),
        format_func=lambda one: entries[one].title if one in entries else one,
        key=_KEY,
        on_change=lambda: _agree(st.session_state[_KEY]),
        persist_state="session",
        accept_new_options=True,
        placeholder=t("app.model_placeholder"),
        help=t("app.model_help") if may_bring_any_model() else t("app.model_help_host"),
    )
    model = (st.session_state[_KEY] or default).strip()
    # Also the default, which is another one where the reader's language is another.
    if st.query_params.get(_KEY) != model:
        st.query_params[_KEY] = model
    if model in entries:
        st.sidebar.caption(summary(entries[model]))
    offer = None if model == default else _offer_default
    with shown_to_user(offer=offer):
        _require_allowed(model, entries)
        is_name = _HUB_NAME.fullmatch(model) and not Path(model).exists()
        if not is_name or _is_at_hand(model, entries):
            _require_click(model, entries)
            ask_anew_if_changed(model)
            if ask(Explorer.info)(model).precision != "float32":
                st.sidebar.caption(t("app.in_bfloat16"))
            _opened_before().add(model)
            # One that was uploaded or trained here is still looked at.
            hold("model", [model] if _OWN_ID.fullmatch(model) else [])
            return model
    downloaded = offer_download(model)
    if downloaded is not None:
        choose_next(downloaded.model_id)
    _offer_default()
    st.stop()


def known_models() -> dict[str, ModelEntry]:
    """Models to choose from, the default first, by id; no two have the same title."""
    uploaded = st.session_state.get(_UPLOADS, ())
    if may_bring_any_model():
        uploaded = (*uploaded, *uploaded_models())
    entries = {entry.model_id: entry for entry in (*installed_models(), *uploaded)}
    titles = Counter(entry.title for entry in entries.values())
    for key, entry in entries.items():
        if titles[entry.title] > 1:
            entries[key] = replace(entry, title=f"{entry.title} · {key}")
    first = {key: entries[key] for key in (default_model(),) if key in entries}
    return first | entries


def title_of(model: str) -> str:
    """What a model is called: its title in the list, else its id."""
    entry = known_models().get(model)
    return model if entry is None else entry.title


def default_model() -> str:
    """A bundled model that reads the language of the interface, where there is one."""
    bundled = [entry for entry in installed_models() if entry.origin == "bundled"]
    fitting = [e.model_id for e in bundled if e.language == current_language()]
    if not fitting or DEFAULT_MODEL in fitting:
        return DEFAULT_MODEL
    return fitting[0]


def add_uploaded(entry: ModelEntry) -> None:
    """Remembers a model that this visitor uploaded, for this session."""
    _keep_uploaded(entry.model_id, entry)


def remove_uploaded(model: str) -> None:
    """Removes an upload from the disk and from the list. A callback."""
    with shown_to_user(stop=False):
        client().ask(remove_upload)(model, owner())
        _keep_uploaded(model)
        forget_models()
        if st.session_state.get(_KEY) == model:
            choose(default_model())


def _keep_uploaded(but: str, *more: ModelEntry) -> None:
    kept = [e for e in st.session_state.get(_UPLOADS, ()) if e.model_id != but]
    st.session_state[_UPLOADS] = (*kept, *more)
    hold(_UPLOADS, [entry.model_id for entry in (*kept, *more)])


def choose(model: str) -> None:
    """Makes a model the chosen one. For callbacks: they run before the picker."""
    st.session_state[_KEY] = model


def choose_next(model: str) -> None:
    """Makes a model the chosen one in the next run, and starts that run."""
    _agree(model)
    st.session_state[_NEXT] = model
    st.rerun()


def may_bring_any_model() -> bool:
    """Whether a visitor may name a path of this machine, or a hub name.

    A server for strangers sets `BERTVIZ_MODELS=listed`, which goes with every question
    to the engine: there a visitor chooses from the list or uploads a zip file.
    """
    return models_policy() == "any"


def language_of(model: str, text: str = "") -> str:
    """The language of examples for a model, "en" or "zh".

    Where the model reads both, the `text` that an example stands beside decides; one
    without letters leaves that to the interface.
    """
    read = languages_read(model)
    here = language_written(text) or current_language()
    return here if here in read else read[0]


def languages_read(model: str) -> tuple[str, ...]:
    """Those that a model reads, of "en" and "zh"; by its vocabulary, if need be."""
    entry = known_models().get(model)
    if entry is not None and entry.language in LANGUAGES:
        return (entry.language,)
    if entry is None or entry.language != "multilingual":
        try:
            share = chinese_share(model)
        except BertVizError:  # said by what opens the model
            return tuple(LANGUAGES)
        if share < _LEAST_CHINESE:
            return ("en",)
        if share > _MOSTLY_CHINESE:
            return ("zh",)
    return tuple(LANGUAGES)


def say_if_unread(model: str, tokenized: TokenizedText) -> None:
    """Says so where a model can hardly read a text, above what it makes of it."""
    if not is_read(model, tokenized):
        st.warning(t("app.unread"), icon=":material/translate:")


def is_read(model: str, tokenized: TokenizedText) -> bool:
    """Whether a model can read a text, which it has split.

    Not if the text is of another language than the model's, or if most of it falls into
    [UNK] or into single letters of a script of which the vocabulary knows no words.
    """
    written = language_written(f"{tokenized.text} {tokenized.pair or ''}")
    unread = tokenized.is_unknown | [*map(_is_foreign_letter, tokenized.tokens)]
    own = ~tokenized.is_added & (tokenized.input_ids != tokenized.mask_token_id)
    is_known = written is None or written in languages_read(model)
    return bool(is_known and 2 * unread[own].sum() <= own.sum())


def _is_foreign_letter(token: str) -> bool:
    letter = token.removeprefix("##")
    is_letter = len(letter) == 1 and letter.isalpha()
    return is_letter and not letter.isascii() and not is_cjk(letter)


def language_written(text: str) -> str | None:
    """That of most words; a Chinese character counts as one."""
    text = text.replace(MASK, "")
    others = "".join(" " if is_cjk(sign) else sign for sign in text)
    num_words = len(_WORD.findall(others))
    if sum(map(is_cjk, text)) > num_words:
        return "zh"
    return "en" if num_words else None


def summary(entry: ModelEntry) -> str:
    """Where a model comes from, what it reads, its size; in one line."""
    parts = [
        t(f"app.origin_{entry.origin}"),
        t(f"app.reads_{entry.language or 'unknown'}"),
    ]
    if entry.size_bytes:
        unit, size = ("mega", 1e6) if entry.size_bytes >= 1e6 else ("kilo", 1e3)
        parts.append(t(f"app.{unit}bytes", size=entry.size_bytes / size))
    return " · ".join(parts)


def _follow_language(default: str) -> None:
    """Takes the default along when the language changes, unless there was a choice.

    A text of the visitor's own in another language keeps it: the new default would
    read hardly a word of it. Once that text is gone, the default follows.
    """
    before = st.session_state.get(_DEFAULT_BEFORE)
    is_default = before not in (None, default) and st.session_state.get(_KEY) == before
    written = set(map(language_written, own_texts()))
    if is_default and not written <= {current_language()}:
        return
    st.session_state[_DEFAULT_BEFORE] = default
    if is_default:
        choose(default)


def _agree(model: str | None) -> None:
    """Remembers that the visitor's own hand chose a model, and not a link."""
    st.session_state[_BY_HAND] = (model or "").strip()


def _require_click(model: str, entries: dict[str, ModelEntry]) -> None:
    """Stops at a path of this machine that a link names, until the visitor agrees."""
    is_by_hand = st.session_state.get(_BY_HAND) == model
    is_own = _is_at_hand(model, entries) or _OWN_ID.fullmatch(model)
    if is_by_hand or is_own or model in _opened_before():
        return
    st.warning(t("app.linked_path", path=model), icon=":material/link:")
    st.button(t("app.open_linked"), key="open_linked", on_click=_agree, args=(model,))
    _offer_default()
    st.stop()


@st.cache_resource(max_entries=1, show_spinner=False)
def _opened_before() -> set[str]:
    """What has been opened since the server started: a reload asks for no click."""
    return set()


def _require_allowed(model: str, entries: dict[str, ModelEntry]) -> None:
    is_listed = _is_at_hand(model, entries) or _OWN_ID.fullmatch(model)
    if not is_listed and not may_bring_any_model():
        raise CheckpointError(
            "This server opens only the models in its list and uploaded ones. "
            "Received: {model}. Choose a model from the list, or upload a zip file.",
            model=model[:120],
        )


def _is_at_hand(model: str, entries: dict[str, ModelEntry]) -> bool:
    # A name without a revision means the latest download of it.
    names = {entry_id.split("@")[0] for entry_id in entries}
    return model in entries or model in names


def _offer_default() -> None:
    default = default_model()
    st.button(t("app.use_default", model=default), on_click=choose, args=(default,))
