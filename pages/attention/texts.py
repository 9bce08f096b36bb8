"""The top of the attention page: one text, or two that belong together."""

from __future__ import annotations

from bertviz_core.trace import Texts
from pages.shared.models import language_of
from pages.shared.text_pair import TextBoxes

# A text alone, or a text and the one after it.
EXAMPLES = {
    "en": (
        ("The dog chased the cat because [MASK] was angry.", ""),
        ("Paris is the capital of [MASK].", ""),
        ("She took the book to the library.", "The [MASK] was very old."),
        ("The animal did not cross the street because it was too tired.", ""),
        ("I met my brother and my sister. My brother is older than my [MASK].", ""),
    ),
    "zh": (
        ("他会说英[MASK]和法语。", ""),
        ("他们结婚后生了三个孩[MASK]。", ""),
        ("她把书带到了图书馆。", "那本书很[MASK]。"),
        ("小狗没有过马路，因为它太累了。", ""),
    ),
}
_BOXES = TextBoxes("attention", EXAMPLES)


def edit_texts(model: str) -> Texts:
    """Draws the text boxes.

    Returns:
        What they hold; the text may be empty.
    """
    return _BOXES.draw(language_of(model))
