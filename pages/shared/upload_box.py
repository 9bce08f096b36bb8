"""A box for a file that speaks the reader's language.

Streamlit's own box says its button, its limit and its refusals in English whatever the
page speaks: see `replaced_words`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared.language import plain
from pages.shared.replaced_words import quoted

if TYPE_CHECKING:
    from streamlit.runtime.memory_uploaded_file_manager import (
        MemoryUploadedFileManager,
    )
    from streamlit.typing import UploadedFile

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
) -> UploadedFile | None:
    """Draws the box.

    Args:
        label: above it, as Markdown.
        key: of the widget; unique on the page.
        limit: beside its button, as plain text: what it takes.
        refusal: below it, as plain text, where the box itself refuses a file, for its
            size or its ending; it is not sent then.
        megabytes: of the largest file that the box lets through; `None` for the
            server's limit.
        endings: of names that it lets through; `None` for all.
        help: behind a question mark, as Markdown.
        on_change: see Streamlit.
        args: of `on_change`.

    Returns:
        The file, held in memory; `None` without one.
    """
    file = st.file_uploader(
        label,
        type=endings,
        key=key,
        max_upload_size=megabytes,
        help=help,
        on_change=on_change,
        args=args,
    )
    words = {"button": plain("app.choose_file"), "limit": limit, "refusal": refusal}
    words = {name: quoted(said) for name, said in words.items()}
    st.html(_WORDS.format(key=key, **words))
    return file


def let_go(file: UploadedFile) -> None:
    """Frees the memory that holds a file; for one that is stored elsewhere by now.

    Streamlit keeps it until five minutes after the tab was closed, however many came.
    The file's box must have another key from the next run on.
    """
    context = get_script_run_ctx()
    if context is not None:
        manager = cast("MemoryUploadedFileManager", context.uploaded_file_mgr)
        manager.remove_file(context.session_id, file.file_id)
    file.truncate(0)
