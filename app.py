"""BERT Explorer: server, language and navigation. Each page has a folder in `pages/`.

Run it with `streamlit run app.py`; `server.py` serves the same app to others.
"""

from pathlib import Path

import streamlit as st

from pages.shared.engine import warm_up
from pages.shared.errors import shown_to_user
from pages.shared.hosting import (
    MIDDLEWARE,
    ROUTES,
    lifespan,
    prepare_own_machine,
    require_decision,
    show_uncaught,
)
from pages.shared.language import choose_language, plain
from pages.shared.navigation import FIRST, ICONS, arrive
from pages.shared.page_head import page_head
from pages.shared.replaced_words import choose_projector, translate_frame
from pages.shared.turns import TURNS
from pages.shared.visitor import say_that_one_is_here

ROOT = Path(__file__).parent
PAGES = ROOT / "pages"


def show_page() -> None:
    """Draws the frame and the page that the visitor asked for."""
    warm_up()  # has happened, unless this runs without a server
    st.set_page_config(page_icon=ROOT / "assets" / "icon.svg", layout="wide")
    links = st.sidebar.container(gap="xsmall")
    choose_language()
    # No icons here: Streamlit would fetch them from another server as favicons.
    scripts = {name: PAGES / name / f"{name}.py" for name in ICONS}
    pages = {
        name: st.Page(script, title=plain(f"app.page_{name}"), default=name == FIRST)
        for name, script in scripts.items()
    }
    page = st.navigation(list(pages.values()), position="hidden")
    st.set_page_config(page_title=plain("app.tab_title", page=page.title))
    opened = next(name for name, shown in pages.items() if shown is page)
    arrive(opened)
    choose_projector()
    with links:
        for name, icon in ICONS.items():
            st.page_link(pages[name], icon=f":material/{icon}:")
        translate_frame()
        say_that_one_is_here()  # here, as it would shift a page that begins to wait
    page_head(opened)
    with shown_to_user():
        page.run()


# `streamlit run` imports this file when the server starts, which is when the engine
# shall start, too; after that every visitor's session runs it.
if st.runtime.exists():
    with TURNS.taken():
        show_page()
else:
    require_decision()
    prepare_own_machine()
    app = st.App(
        __file__,
        lifespan=lifespan,
        routes=ROUTES,
        middleware=MIDDLEWARE,
        on_script_error=show_uncaught,
    )
