"""Step 6: the trained model, to take away and to look into."""

import json
import zipfile
from pathlib import Path

import streamlit as st

from bertviz_core.engine.model_tasks import add_upload
from bertviz_core.errors import TrainingError
from bertviz_core.trace import ModelEntry
from bertviz_core.training.finetune.request import TrainingStatus
from pages.fine_tune.running import file_stem, offer_log
from pages.fine_tune.state import FineTuneState
from pages.fine_tune.widgets import lease
from pages.shared.answers import forget_lists
from pages.shared.engine import client
from pages.shared.errors import shown_to_user
from pages.shared.export import show_table
from pages.shared.file_download import file_link
from pages.shared.language import current_language, plain, t
from pages.shared.models import OPEN, add_uploaded, may_bring_any_model
from pages.shared.navigation import link_to
from pages.shared.page_head import model_at_work
from pages.shared.panel import button, download
from pages.shared.visitor import owner

# Pages that look into one model, in the order of their links.
_LOOK_INTO = ("attention", "masked_word", "embeddings", "layers")
_KEPT = "ft_take_kept"
# What stands in the zip, in the order of the page.
_CONTENTS = (
    *("model.safetensors", "config.json", "vocab.txt", "labels.json", "metrics.json"),
    *("recipe.json", "predictions.csv", "predictions.jsonl", "predict.py", "NOTICE"),
    *("README.md", "README.zh.md"),
)


def show(state: FineTuneState) -> None:
    """Draws this part; it is called only when `state.is_trained`."""
    status = state.status
    if status is None or status.model is None:
        return
    st.header(t("results.take_title"), anchor=False)
    st.markdown(t("results.take_intro"))
    path = Path(client().trainings.bundle(state.run_id))
    _offer_files(status, path)
    st.subheader(t("results.inside_title"), anchor=False)
    _show_contents(path)
    st.subheader(t("results.open_title"), anchor=False)
    st.markdown(t("results.open_intro"))
    # The picker of the other pages lists it from now on.
    add_uploaded(status.model)
    with st.container(horizontal=True):
        for name in _LOOK_INTO:
            link_to(name, params={OPEN: status.model.model_id})
    st.subheader(t("results.keep_title"), anchor=False)
    _offer_to_keep(status, path)


def _offer_files(status: TrainingStatus, path: Path) -> None:
    name = file_stem(status)
    with st.container(horizontal=True):
        file_link(
            t("results.download_zip", size=path.stat().st_size / 1e6),
            path,
            plain("results.zip_file", name=name),
            "ft_take_zip",
            "folder_zip",
        )
        download(
            "results.download_rows",
            lambda: _inside(path, "predictions.csv"),
            plain("results.predictions_file", name=name),
            "text/csv",
            "ft_take_rows",
            "table",
        )
        offer_log(status, "ft_take_log")
    # A stranger has no way to the disk of a server, and no business with its names, one
    # of which is the id of the run.
    if status.is_own and may_bring_any_model():
        st.caption(t("results.where_it_lies", path=str(path), time=lease()))


def _show_contents(path: Path) -> None:
    with zipfile.ZipFile(path) as packed:
        sizes = {Path(e.filename).name: e.file_size for e in packed.infolist()}
    names = [name for name in _CONTENTS if name in sizes]
    ends = [name.lower().replace(".", "_") for name in names]
    what = [plain(f"results.file_{end}") for end in ends]
    columns = {
        "results.file": names,
        "results.what_it_is": what,
        "results.kilobytes": [round(sizes[name] / 1e3, 2) for name in names],
    }
    alt = plain("results.contents_described")
    show_table(columns, alt)
    with st.expander(t("results.script_title"), icon=":material/code:"):
        st.markdown(t("results.script_intro"))
        st.code(_inside(path, "predict.py").decode(), language="python")
    with st.expander(t("results.card_title"), icon=":material/article:"):
        st.markdown(t("results.card_intro"))
        card = "README.zh.md" if current_language() == "zh" else "README.md"
        card = card if card in names else "README.md"
        st.code(_inside(path, card).decode(), language="markdown", wrap_lines=True)
    with st.expander(t("results.recipe_title"), icon=":material/menu_book:"):
        st.markdown(t("results.recipe_intro"))
        st.json(json.loads(_inside(path, "recipe.json")))


def _offer_to_keep(status: TrainingStatus, path: Path) -> None:
    st.markdown(t("results.keep_intro", time=lease()))
    kept: dict[str, ModelEntry] = st.session_state.setdefault(_KEPT, {})
    label, is_kept = t("results.keep"), status.run_id in kept
    if button(label, "ft_take_keep", "bookmark_add", disabled=is_kept):
        with shown_to_user(stop=False), model_at_work():
            entry = client().ask(add_upload)(str(path), file_stem(status), owner())
            add_uploaded(entry)
            forget_lists()
            kept[status.run_id] = entry
            st.rerun()
    if is_kept:
        entry = kept[status.run_id]
        names = {"title": entry.title, "model": entry.model_id}
        said = t("results.kept", **names)
        st.success(said, icon=":material/bookmark:")
    link_to("models", "results.load_back", "upload")


def _inside(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as packed:
        for entry in packed.infolist():
            if Path(entry.filename).name == name:
                return packed.read(entry)
    raise TrainingError("The zip file has no {name}. Train again.", name=name)
