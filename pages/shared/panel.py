"""A panel: a part of a page that is drawn by itself, such as a question's answer.

Its numbers and buttons, and the row of tools below a view: table, downloads, program,
link.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.snippets.writing import write_snippet
from bertviz_core.trace import Texts
from pages.shared.errors import shown_to_user
from pages.shared.language import help_of, in_this_language, labelled, t
from pages.shared.turns import TURNS

P = ParamSpec("P")
Program = Callable[[], str]
# By name, or by the key of the text that is their name: the cells, a list or an array.
Columns = Mapping[str, Any]
# The text of each tool and its sign, in their order.
_TOOLS = {
    "table": ("app.as_table", "table"),
    "download": ("app.download", "download"),
    "code": ("app.show_code", "code"),
    "link": ("app.link", "link"),
}


def panel(draw: Callable[P, None], every: float | None = None) -> Callable[P, None]:
    """Makes a function a panel: it runs alone, and its errors end in a sentence.

    A widget inside draws the panel anew and leaves the rest of the page alone. All that
    a page says of its sentence is one, too: another text need not draw the links and
    the choice of a model anew. What follows on the page stands after an error, too.
    Where that is said, it draws itself anew `every` so many seconds.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        with TURNS.taken(), shown_to_user(stop=False):
            draw(*args, **kwargs)

    return st.fragment(drawn, run_every=every)


def show_numbers(numbers: Mapping[str, str | tuple[str, str]], **places: Any) -> None:
    """Draws numbers side by side, each with its name and its explanation.

    `numbers` are by the keys of their names: a number, or that and what stands below
    it. `places` fill names and explanations.
    """
    for box, (key, number) in zip(
        st.columns(len(numbers)), numbers.items(), strict=True
    ):
        value, below = number if isinstance(number, tuple) else (number, None)
        show_number(box, t(key, **places), value, below, help_of(key, **places))


def show_number(
    box: DeltaGenerator,
    label: str,
    value: str,
    below: str | None = None,
    explained: str | None = None,
) -> None:
    """Draws one number in a box, with what stands below it and what explains it."""
    how: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off"}
    box.metric(label, value, below, help=explained, **how)


def folded(label: str, icon: str, key: str, draw: Callable[..., object]) -> Any:
    """Draws what folds out, by `draw` of Streamlit; `None` while it is closed.

    What stands in it is made when it is open.
    """
    sign = f":material/{icon}:"
    box: Any = draw(label, icon=sign, key=key, on_change="rerun")
    return box if box.open else None


def button(
    label: str,
    key: str,
    icon: str = "",
    call: Callable[..., Any] | None = None,
    *args: object,
    **options: Any,
) -> bool:
    """Draws a button; a click calls `call`, before the page is drawn again.

    `label` is the key of its text or a text, see `labelled`.
    """
    label, sign = labelled(label, options), f":material/{icon}:" if icon else None
    return st.button(label, key=key, icon=sign, on_click=call, args=args, **options)


def taking(key: str, take: Callable[[Any], object]) -> Callable[[], None]:
    """The `on_change` of a widget that is empty again once `take` has what it held."""

    def call() -> None:
        chosen, st.session_state[key] = st.session_state[key], None
        if chosen is not None:
            take(chosen)

    return call


def download(
    label: str,
    make: Callable[[], str | bytes],
    file_name: str,
    mime: str,
    key: str,
    icon: str = "",
    **options: Any,
) -> None:
    """Draws a button that saves a file, which is made at the click, see `button`.

    `make` runs outside of the session, in its language.
    """
    label, sign = labelled(label, options), f":material/{icon}:" if icon else None
    how = {"key": key, "icon": sign, "on_click": "ignore", **options}
    st.download_button(
        label, in_this_language(make), file_name=file_name, mime=mime, **how
    )


def show_tools(
    name: str, code: Program | None = None, **tools: Callable[[], None]
) -> None:
    """Draws a row of tools and what the chosen one opens, which is made only then.

    `name` is that of the view, unique on the page; `code` writes a program that gives
    its numbers again. `tools` draw what others open, by the names in `_TOOLS`; a link
    is everywhere.

    A view has a program where public names of the core give its numbers from model and
    text. There is none for numbers of a training (its zip holds programs), of what a
    visitor puts together by clicks, or where another view beside it has one.
    """
    tools["link"] = _show_link
    if code is not None:
        tools["code"] = functools.partial(_show_code, code)
    labels = {
        kind: f":material/{icon}: {t(key)}"
        for kind, (key, icon) in _TOOLS.items()
        if kind in tools
    }
    opened = st.pills(
        t("app.tools"),
        list(labels),
        format_func=labels.__getitem__,
        key=f"{name}_tools",
        label_visibility="collapsed",
        wrap=True,  # also in a column
    )
    if opened is not None:
        with st.container(border=True, horizontal=opened == "download"):
            tools[opened]()


def show_number_tools(
    name: str,
    columns: Callable[[], Columns],
    told: str,
    code: Program | None = None,
    files: Callable[[], None] = lambda: None,
) -> None:
    """Draws the row of tools of numbers: they as a table, as a file, and the others.

    `columns` are called when somebody wants them, `told` is what a screen reader says
    of the table, `files` draws what is saved besides.
    """
    # The first page has such tools and is not to load pandas.

    def show_rows() -> None:
        from pages.shared.export import show_first_rows

        show_first_rows(columns(), told)

    def download_files() -> None:
        from pages.shared.export import download_csv

        download_csv(columns(), name)
        files()

    show_tools(name, code, table=show_rows, download=download_files)


def program(template: str, *about: str | Texts, **values: object) -> Program:
    """A program of the core's public names, which is written when somebody wants it.

    `template` is one of `bertviz_core.snippets`; it is `about` a model and what that
    reads; for the other `values` see `write_snippet`.
    """
    for one in about:
        if isinstance(one, Texts):
            values |= {"text": one.text, "pair": one.pair}
        else:
            values["model"] = one
    return functools.partial(write_snippet, template, **values)


def _show_code(code: Program) -> None:
    st.caption(t("app.show_code_help"))
    st.code(code(), language="python", wrap_lines=True)


def _show_link() -> None:
    """The address of what is shown now, to copy."""
    # Some choices stand there several times, once for each value.
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    chosen = urlencode(given, doseq=True, quote_via=quote)
    st.caption(t("app.link_help"))
    st.code(f"{st.context.url}?{chosen}", language=None, wrap_lines=True)
