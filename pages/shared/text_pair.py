"""A text, or two that belong together: boxes, examples, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import normalise_masks
from bertviz_core.trace import Texts, TokenizedText
from pages.shared.answers import ask
from pages.shared.choices import type_linked
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.models import say_if_unread
from pages.shared.own_text import watch_boxes

MOST_CHARACTERS = 4000
Example = tuple[str, str]


def read_by(model: str, texts: Texts) -> TokenizedText:
    """Texts as a model reads them; says what it leaves out or can hardly read.

    The page ends in a sentence where there is no text, or none that can be read.
    """
    if not texts.text.strip():
        st.info(t("app.no_text"), icon=":material/edit:")
        st.stop()
    with shown_to_user():
        read = ask(Explorer.tokenize)(model, texts.text, texts.pair, cut=True)
    if read.was_cut:
        said = t("app.was_cut", count=read.num_tokens_uncut, limit=read.num_tokens)
        st.warning(said, icon=":material/content_cut:")
    say_if_unread(model, read)
    return read


@dataclass(frozen=True)
class TextBoxes:
    """The two boxes of a page.

    Args:
        page: begins the keys of the widgets and of the page's strings.
        examples: by language; a text alone has an empty second one. The first
            example is what the boxes hold at first.
    """

    page: str
    examples: Mapping[str, tuple[Example, ...]]

    def __post_init__(self) -> None:
        keys = (f"{self.page}_text", f"{self.page}_pair")
        watch_boxes(keys, [examples[0] for examples in self.examples.values()])

    def draw(self, language: str) -> Texts:
        """Draws the boxes and, below them, the examples.

        Args:
            language: of the examples; one that nobody has touched changes with it.

        Returns:
            What the boxes hold; the text may be empty.
        """
        defaults = {"text": self.examples[language][0][0], "pair": ""}
        typed = [
            type_linked(
                *(column.text_area, t(f"{self.page}.{name}"), default),
                key=f"{self.page}_{name}",
                is_main=True,
                max_chars=MOST_CHARACTERS,
                height=80,
                help=t(f"{self.page}.{name}_help"),
            )
            for column, (name, default) in zip(
                st.columns(2), defaults.items(), strict=True
            )
        ]
        self._offer_examples(language)
        text, pair = (normalise_masks(one)[0] for one in typed)
        return Texts(text, pair or None)

    def _fill(self, example: Example) -> None:
        text, pair = f"{self.page}_text", f"{self.page}_pair"
        st.session_state[text], st.session_state[pair] = example

    def _offer_examples(self, language: str) -> None:
        labels = [" · ".join(filter(None, pair)) for pair in self.examples[language]]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            # Leaving a text box is what sends the text; a button gives a place to go.
            st.button(
                t(f"{self.page}.look"),
                icon=":material/play_arrow:",
                key=f"{self.page}_look",
            )
            st.selectbox(
                t(f"{self.page}.examples"),
                range(len(labels)),
                index=None,
                format_func=labels.__getitem__,
                key=f"{self.page}_example",
                placeholder=t(f"{self.page}.choose_example"),
                label_visibility="collapsed",
                on_change=self._take_example,
                args=(language,),
                width=460,
            )

    def _take_example(self, language: str) -> None:
        index = st.session_state[f"{self.page}_example"]
        if index is not None:
            self._fill(self.examples[language][index])
        st.session_state[f"{self.page}_example"] = None
