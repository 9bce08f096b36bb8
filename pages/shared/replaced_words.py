"""Streamlit's own English words, replaced in the browser by the reader's.

Streamlit says its hints below boxes, its menu and its buttons in English whatever the
page speaks. A style sheet writes other words in their place: theirs shrink to nothing,
and a screen reader still reads them before ours. Boxes for files are in `uploads`.

What Streamlit offers to developers is hidden: readers do not need it.
"""

import streamlit as st

from pages.shared.choices import switch_linked
from pages.shared.components import component
from pages.shared.language import current_language, plain

_PROJECTOR = "projector"
_STYLE = "<style>{}</style>"
# In this order: a card above each page, where Streamlit opened the browser and finds
# tools for agents; how to read a page, from its second visit on; a menu that is folded
# away, whose links the Tab key would still find; room above and beside a page, which a
# laptop has not; the focus on a link, else a tint like that of the page that is open,
# on a switch, and on the buttons of a figure and a table, which would be unseen; the
# words of a link, else cut on a phone; what is said of a box, else over the end of its
# text; a table that scrolls where it is wider than a phone; a formula, whose fractions
# are higher than its box and would be cut; a number with its unit, a file to save and a
# list, which would be cut, too; what is too pale to read otherwise: a figure, a button
# whose box is open, a program.
_OURS = """
[data-testid="stSkillsNudge"] { display: none; }
html:not([data-first-visit]) :has(> .st-key-first_visit) { display: none; }
[data-testid="stSidebar"][data-collapsed="true"] { visibility: hidden; }
[data-testid="stHeader"] { height: 2.25rem; min-height: 2.25rem; }
[data-testid="stMainBlockContainer"] { margin-top: -1.25rem; }
@media (width > 768px) {
  [data-testid="stMainBlockContainer"] { padding-inline: 3rem; }
}
:is(a[data-testid="stPageLink-NavLink"], .modebar-btn):focus-visible,
[data-testid="stCheckbox"] label:has(:focus-visible) { outline: 2px solid; }
[data-testid="stElementToolbar"]:focus-within { opacity: 1; }
a[data-testid="stPageLink-NavLink"] > span:last-child { white-space: normal; }
[data-testid="InputInstructions"] {
  top: 100%;
  bottom: auto;
  margin: 3px 0 0;
  line-height: 1.1;
}
[data-testid="stElementContainer"]:has(> [data-testid="stTextArea"]) {
  overflow: visible;
}
[data-testid="stMarkdownContainer"]:has(table) { overflow-x: auto; }
.st-key-masked_lens_words [data-testid="stFullScreenFrame"]:has(.js-plotly-plot) {
  min-width: 48rem;
}
.katex-display { padding-block: 0.4em; margin-block: 0.6em !important; }
[data-testid="stSelectboxVirtualDropdown"] {
  width: max-content !important;
  min-width: var(--trigger-width);
  max-width: calc(100vw - 2rem);
}
[role="option"][data-rac] { height: auto; min-height: 2.5rem; }
[role="option"][data-rac] > * { height: auto; white-space: normal; line-height: 1.25; }
:is([data-testid="stMetricValue"], [data-testid="stDownloadButton"]) * {
  white-space: normal !important;
}
.js-plotly-plot text[style*="rgb(128, 132, 149)"] { fill: currentcolor !important; }
.js-plotly-plot text[style*="rgb(68, 68, 68)"] { fill: #111 !important; }
.js-plotly-plot text[style*="fill: rgb(255, 255, 255)"] {
  paint-order: stroke;
  stroke: #0007;
  stroke-width: 1.5px;
}
[data-testid="stPopoverButton"][aria-expanded="true"] { color: inherit; }
[data-testid="stCode"] .token.token { color: inherit; }
[data-testid="stCode"] .token.keyword { color: light-dark(#1a64a4, #8fbdf7); }
[data-testid="stCode"] .token.string { color: light-dark(#0b6b3a, #7fd6a0); }
[data-testid="stCode"] .token:is(.number, .boolean) {
  color: light-dark(#7d1652, #e99a72);
}
"""
# Large type, no side texts, and less room around the picture, which comes first.
_PROJECTED = """
html { font-size: 22px !important; }
[data-testid="stMainBlockContainer"] {
  margin-top: -2.95rem;
  padding-inline: 1rem !important;
}
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
[data-testid="stMain"] h1 { font-size: 1.5rem; padding: 0.25rem 0; }
[data-testid="stMain"] h2 { font-size: 1.25rem; padding: 0.25rem 0; }
[data-testid="stMain"] :is(
  [data-testid="stCaptionContainer"],
  .st-key-page_head [data-testid="stPopover"],
  .st-key-first_visit,
  [data-testid="stTooltipIcon"]
) { display: none; }
"""
_HINT = '[data-testid="InputInstructions"] span'
# Before the count of letters where a box has one; that alone is no words.
_COUNTED = f"{_HINT}:first-child:not(:last-child)"
_AREA = '[data-testid="stTextArea"]'
_MENU = '[data-testid="stMainMenuItem-{}"]'
_LABEL = '[data-testid="stMainMenuItemLabel"]'
_FRAME = {
    _COUNTED: "app.hint_enter",
    f'[data-testid="stNumberInput"] {_HINT}': "app.hint_enter",
    f"{_AREA} {_COUNTED}": "app.hint_control_enter",
    # The boxes without a count: their text may be of any length.
    f":is(.st-key-text, .st-key-pair) {_HINT}": "app.hint_control_enter",
    '[data-testid="stStatusWidget"] button': "app.stop_page",
    '[data-testid="stSkipToContent"]': "app.skip_to_content",
    _MENU.format("theme-System"): "app.theme_system",
    _MENU.format("theme-Light"): "app.theme_light",
    _MENU.format("theme-Dark"): "app.theme_dark",
    f"{_MENU.format('print')} {_LABEL}": "app.menu_print",
    f"{_MENU.format('recordScreencast')} {_LABEL}": "app.menu_record",
}
# What a screen reader reads, what the buttons of a figure say under the pointer, and
# what an empty box says.
_NAMES = {
    "Sidebar": "app.name_sidebar",
    "Collapse sidebar": "app.name_collapse",
    "Expand sidebar": "app.name_expand",
    "Main menu": "app.name_menu",
    "Open": "app.name_open",
    "Close": "app.name_close",
    "Clear all": "app.name_clear",
    "Clear value": "app.name_clear",
    "Increment": "app.name_increment",
    "Decrement": "app.name_decrement",
    "Copy to clipboard": "app.name_copy",
    "Scroll tabs left": "app.name_tabs_left",
    "Scroll tabs right": "app.name_tabs_right",
    "progress": "app.name_progress",
    "file upload": "app.choose_file",
    "Stop script": "app.stop_page",
    "Help": "app.name_help",
    "Help for ": "app.name_help_for",
    "visibility_off icon": "app.name_hidden",
    "question_mark icon": "app.name_unknown",
    "lock icon": "app.name_locked",
    "Choose an option": "app.name_choose",
    "Choose options": "app.name_choose",
    "Fullscreen": "app.figure_fullscreen",
    "Close fullscreen": "app.figure_close_fullscreen",
}
_tend = component("frame", "tendFrame(data)")


def translate_frame() -> None:
    """Translates Streamlit's own words around all pages; nothing to do in English."""
    translated = "".join(
        f"{place} {{ font-size: 0 !important; }}\n"
        f'{place}::after {{ content: "{quoted(plain(key))}"; font-size: 0.875rem; }}\n'
        for place, key in (_FRAME if current_language() != "en" else {}).items()
    )
    projected = _PROJECTED if is_projected() else ""
    st.html(_STYLE.format(f"{_OURS}\n{projected}\n{translated}"))
    # What the help is about comes last, and is added in the browser.
    names = {said: plain(key, name="") for said, key in _NAMES.items()}
    _tend(data={"language": current_language(), "names": names}, key="frame")


def choose_projector() -> None:
    """Draws the switch of the projector mode, in which pages can be read from afar."""
    with st.sidebar:
        switch_linked("app.projector", key=_PROJECTOR, is_of_visit=True)


def is_projected() -> bool:
    """Whether type is large and side texts are hidden."""
    return bool(st.session_state.get(_PROJECTOR))


def quoted(text: str) -> str:
    """Plain text for a string of a style sheet between double quotes."""
    for sign in ("\\", '"', "<", "\n"):
        text = text.replace(sign, f"\\{ord(sign):x} ")
    return text
