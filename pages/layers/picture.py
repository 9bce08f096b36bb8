"""The picture of a step's numbers, and what stands below it.

The component gets the pictures of all steps of a layer at once, with one more on
either side, and hears from the strip which one to draw: a step is drawn before the page
has answered. Streamlit sends the same bytes to a browser once only.
"""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from bertviz_core.experiments.step_results import LayerStep, PartNumbers
from bertviz_core.figures.component_files import component_script, component_style
from bertviz_core.figures.number_pictures import TitledPicture, pictures_payload
from bertviz_core.figures.upright_titles import set_titles_upright
from bertviz_core.snippets import layers
from bertviz_core.trace import TokenizedText
from pages.layers.numbers import StepPicture, picture_of, token_name
from pages.layers.wording import step_name
from pages.shared.code import program
from pages.shared.export import show_below
from pages.shared.language import current_language, plain
from pages.shared.markdown import spoken

_NAME = "layers_numbers"  # of the files and the widgets
_FILE = "layers_{}"  # saved from the picture
_MOUNT = """
export default function ({ data, parentElement }) {
  return showPicture(parentElement, data)
}
"""

# Registered once: pages import this module, they do not run it again.
_picture = st.components.v2.component(
    "bert_explorer_step",
    html='<div\n class="step-picture"></div>',
    css=component_style("step"),
    js=component_script("step") + _MOUNT,
)


def show_numbers(
    model: str,
    steps: tuple[LayerStep, ...],
    step: LayerStep,
    numbers_of: Callable[[str], PartNumbers],
    tokenized: TokenizedText,
) -> None:
    """Draws what a step computed for the token that is followed."""

    def picture(one: LayerStep) -> StepPicture:
        return picture_of(model, steps, one, numbers_of(one.part), tokenized)

    def titled(one: LayerStep) -> TitledPicture:
        made, token = picture(one), token_name(one, numbers_of(one.part), tokenized)
        return TitledPicture(
            made.drawing,
            plain("layers.picture_title", step=step_name(one), token=token),
            spoken(made.description),
            _FILE.format(one.name.replace("/", "_")),
        )

    payload = _payload(
        *(model, tokenized.text, tokenized.pair, step.part),
        numbers_of(step.part).token,
        current_language(),
        lambda: {one.name: titled(one) for one in _near(steps, step.part)},
    )
    _picture(data=payload, key="layers_picture")
    shown = picture(step)
    show_below(
        name=_NAME,
        description=shown.description,
        columns=shown.columns,
        figure=lambda: _figure(shown),
        code=program(
            layers.STEP,
            model=model,
            text=tokenized.text,
            pair=tokenized.pair,
            part=step.part,
            token=0 if step.is_pooled else numbers_of(step.part).token,
            step=step.name,
        ),
    )


def _near(steps: tuple[LayerStep, ...], part: str) -> tuple[LayerStep, ...]:
    """The steps of a part, the one before and the one after: the ways out of it."""
    places = [place for place, step in enumerate(steps) if step.part == part]
    return steps[max(0, places[0] - 1) : places[-1] + 2]


# Twenty pictures take longer than the rest of a step; 0.3 MB in a BERT-base.
@st.cache_data(max_entries=256, max_size="32MB", show_spinner=False)
def _payload(
    model: str,
    text: str,
    pair: str | None,
    part: str,
    token: int,
    language: str,
    _make: Callable[[], dict[str, TitledPicture]],
) -> bytes:
    """The pictures of a part; all but the last argument tell them apart."""
    words = {
        "save_svg": plain("point_map.save_svg"),
        "save_png": plain("point_map.save_png"),
    }
    return pictures_payload(_make(), words)


def _figure(picture: StepPicture) -> go.Figure:
    figure = picture.drawing.figure()
    set_titles_upright(figure)
    return figure
