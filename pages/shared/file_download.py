"""Downloads of files on the disk, sent in pieces.

`st.download_button` holds all that it sends in memory until the page runs again; the
zip file of a trained BERT-base has more than 400 MB.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared.language import LANGUAGES, labelled, text

_PLACE = "download"
# Key of the session: what it offers, by the keys of the links.
_OFFERS = "file_downloads"


@dataclass(frozen=True)
class _Offer:
    token: str
    session: str
    path: Path
    name: str


# By token. Sessions hold what they offer, so that it goes with them.
_offered: WeakValueDictionary[str, _Offer] = WeakValueDictionary()


def file_link(label: str, path: Path, name: str, key: str, icon: str) -> None:
    """Draws a link that looks like a button and saves a file; for `label` see `button`.

    Its address cannot be guessed, and is valid while the page is open. The file is read
    at the click; the browser saves it by `name`.
    """
    offers: dict[str, _Offer] = st.session_state.setdefault(_OFFERS, {})
    offer = offers.get(key)
    if offer is None or (offer.path, offer.name) != (path, name):
        context = get_script_run_ctx()
        session = "" if context is None else context.session_id
        offer = _Offer(secrets.token_urlsafe(), session, path, name)
        offers[key] = _offered[offer.token] = offer
    # Relative to the page, as a proxy may serve it below an address of its own.
    options: dict[str, Any] = {"key": key, "icon": f":material/{icon}:"}
    label = labelled(label, options)
    st.link_button(label, f"{_PLACE}/{offer.token}", **options)


async def _send(request: Request) -> Response:
    offer = _offered.get(request.path_params["token"])
    is_open = st.runtime.get_instance().is_active_session
    if offer is None or not is_open(offer.session) or not offer.path.is_file():
        # The visitor, and so the language, is not known here.
        said = [text("app.download_gone", language) for language in LANGUAGES]
        return PlainTextResponse("\n".join(said), 404)
    return FileResponse(
        offer.path, filename=offer.name, headers={"Cache-Control": "no-store"}
    )


ROUTES = [
    Route(f"{where}/{_PLACE}/{{token}}", _send) for where in ("", "/{where:path}")
]
