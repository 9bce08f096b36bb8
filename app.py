"""BERT Explorer: server, language and navigation. The pages are in `pages/views/`.

Run it with `streamlit run app.py`; `server.py` serves the same app to others.
"""

from pathlib import Path

import streamlit as st

from pages.ui.engine import warm_up
from pages.ui.errors import shown_to_user
from pages.ui.hosting import MIDDLEWARE, lifespan, show_uncaught
from pages.ui.language import choose_language, plain, t

ROOT = Path(__file__).parent
VIEWS = ROOT / "pages" / "views"


def show_page() -> None:
    """Draws the frame and the page that the visitor asked for."""
    warm_up()  # has happened, unless this runs without a server
    st.set_page_config(page_icon=ROOT / "assets" / "icon.svg", layout="wide")
    links = st.sidebar.container(gap="xsmall")
    choose_language()
    # No icons here: Streamlit would fetch them from another server as favicons.
    home = st.Page(
        VIEWS / "home.py",
        title=plain("app.page_home"),
        help=t("app.page_home_help"),
        default=True,
    )
    masked_word = st.Page(
        VIEWS / "masked_word.py",
        title=plain("app.page_masked_word"),
        help=t("app.page_masked_word_help"),
    )
    attention = st.Page(
        VIEWS / "attention.py",
        title=plain("app.page_attention"),
        help=t("app.page_attention_help"),
    )
    activations = st.Page(
        VIEWS / "activations.py",
        title=plain("app.page_activations"),
        help=t("app.page_activations_help"),
    )
    models = st.Page(
        VIEWS / "models.py",
        title=plain("app.page_models"),
        help=t("app.page_models_help"),
    )
    pages = [home, masked_word, attention, activations, models]
    page = st.navigation(pages, position="hidden")
    st.set_page_config(page_title=plain("app.tab_title", page=page.title))
    with links:
        st.page_link(home, icon=":material/home:")
        st.page_link(masked_word, icon=":material/edit_note:")
        st.page_link(attention, icon=":material/hub:")
        st.page_link(activations, icon=":material/show_chart:")
        st.page_link(models, icon=":material/deployed_code:")
    with shown_to_user():
        page.run()


# `streamlit run` imports this file when the server starts, which is when the engine
# shall start, too; after that every visitor's session runs it.
if st.runtime.exists():
    show_page()
else:
    app = st.App(
        __file__,
        lifespan=lifespan,
        middleware=MIDDLEWARE,
        on_script_error=show_uncaught,
    )
