"""Options that several commands share."""

from __future__ import annotations

import click

model_option = click.option(
    "--model",
    "model_id",
    metavar="M",
    help="A bundled name, a folder, a zip file or a hub name. Default: bert-mini-en.",
)
