"""A box for a file that speaks the reader's language.

Streamlit's own box says its button, its limit and its refusals in English whatever the
page speaks: see `replaced_words`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from pages.shared.language import in_a_row, plain
from pages.shared.replaced_words import quoted
from pages.shared.uploads import Upload, largest_megabytes

_WORDS = """<style>
.st-key-{key} [data-testid="stFileUploaderDropzone"] > span button p {{
  font-size: 0;
}}
.st-key-{key} [data-testid="stFileUploaderDropzoneInstructions"] * {{
  display: none;
}}
.st-key-{key} [data-testid="stFileUploaderDropzone"] > span
[data-testid="stMarkdownContainer"]::after {{
  content: "{button}";
}}
.st-key-{key} [data-testid="stFileUploaderDropzoneInstructions"]::after {{
  content: "{limit}";
  font-size: 0.875rem;
}}
.st-key-{key}:has([aria-invalid="true"])::after {{
  content: "{refusal}";
  display: block;
  padding-top: 0.5rem;
}}
.st-key-{key} [role="alert"],
body:has(.st-key-{key} [aria-invalid="true"]) [data-testid="stTooltipErrorContent"] {{
  display: none;
}}
</style>"""


def upload_box(
    label: str,
    *,
    key: str,
    limit: str,
    refusal: str,
    megabytes: int | None = None,
    endings: Sequence[str] | None = None,
    help: str | None = None,
    on_change: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
) -> Upload | None:
    """Draws the box.

    `limit` says what it takes; `refusal`, below it, that a file was not taken: mostly
    by the box itself, which lets `megabytes` and `endings` through. Where the server
    has no room, see `uploads`, the box looks the same, so that this is said as well.
    """
    most = largest_megabytes()
    file = st.file_uploader(
        label,
        type=endings,
        key=key,
        max_upload_size=min(megabytes or most, most),
        help=help,
        on_change=on_change,
        args=args,
    )
    words = {
        "button": plain("app.choose_file"),
        "limit": limit,
        "refusal": in_a_row([refusal, plain("app.no_room_for_file")]),
    }
    words = {name: quoted(said) for name, said in words.items()}
    st.html(_WORDS.format(key=key, **words))
    return None if file is None else Upload(file)
