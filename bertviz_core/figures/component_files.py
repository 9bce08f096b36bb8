"""The scripts and styles of the canvas components, as text.

Plain files without a build step: the parts of a script share one scope and are joined
in the order of `PARTS`; a part of another component comes with its folder, "." for one
of several.
"""

import functools
import re
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "assets" / "components"
_COMMENTS = re.compile(r"^ *(//[^\n]*|/\*\*[\s\S]*?\*/)\n", re.MULTILINE)
_SHARED = "payload"  # comes first in each script
PARTS = {
    "attention": (
        "./contours", "./outline", "./svg_context", "./views",
        "data", "colors", "canvas", "grid", "heatmap", "lines", "find", "tables",
        "build", "held", "choose", "keys", "listen", "picture", "attention",
    ),
    "layers": ("told", "strip", "keys"),
    "step": (
        "layers/told", "./contours", "./outline", "./views",
        "svg", "strips", "bars", "pointer", "files", "picture",
    ),
    "whole_model": (
        "../vendor/d3", "./contours", "./outline", "./views", "step/svg",
        "step/files", "data", "draw", "point", "levels", "play", "whole_model",
    ),
    "frame": ("./frame",),
    "save_button": ("save_button",),
    "points": (
        "./contours", "./outline", "./svg_context", "./views",
        "data", "theme", "draw", "build", "caption", "files", "points",
    ),
}  # fmt: skip


@functools.cache
def component_script(name: str) -> str:
    """All parts of a component's script.

    "attention" defines `showAttention`, "points" `showPoints`, "layers" `showStrip`,
    "step" `showPicture`, "whole_model" `showWhole`, "save_button" `showSave`, "frame"
    `tendFrame`.
    """
    own = (part if "/" in part else f"{name}/{part}" for part in PARTS[name])
    files = [_FOLDER / f"{part}.js" for part in (_SHARED, *own)]
    texts = [file.read_text(encoding="utf-8") for file in files]
    # It travels with each message to the component: without comments, a fifth is saved.
    # Those of others hold their licence.
    return "\n".join(
        text if "vendor" in file.parts else _COMMENTS.sub("", text)
        for file, text in zip(files, texts, strict=True)
    )


@functools.cache
def component_style(name: str) -> str:
    """The style sheet; colours and fonts come from Streamlit's `--st-…` variables."""
    return (_FOLDER / name / f"{name}.css").read_text(encoding="utf-8")
