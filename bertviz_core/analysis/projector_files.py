r"""Vectors and their names as the two files of the TensorFlow projector.

Tab-separated text. The format has no way to quote, so a tab or a line break inside
a word is written `\t`, `\n`, `\r`, and a backslash is doubled.

Source: https://github.com/tensorflow/tensorboard, `plugins/projector`,
`data-provider.ts`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bertviz_core.cells import safe_cell

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
ROW_COLUMN = "row"


def vectors_tsv(points: np.ndarray) -> str:
    """One vector of `[M, H]` a line, as numbers that read back as the same floats.

    Raises:
        ValueError: another number of axes, or a number that is not finite.
    """
    if points.ndim != 2:
        raise ValueError(f"`points` must be [M, H]. Received: shape={points.shape}.")
    if not np.isfinite(points).all():
        raise ValueError("`points` must be finite numbers.")
    return "".join("\t".join(row.astype(str)) + "\n" for row in points)


def metadata_tsv(columns: Mapping[str, Sequence[object]]) -> str:
    """The names of the vectors, with a header, in the order of the vectors.

    A last column `row` counts from 0. With it there are always two columns: the
    projector takes the first line of a single column, which labels the points, for a
    name, and passes over a blank line, after which names and vectors would no longer
    match.

    What a spreadsheet would run as a formula gets an apostrophe in front, as in every
    CSV file: words come from strangers, and people look into such files with a
    spreadsheet. The projector shows it, too, which costs little: `=`, `-`, `+` and `@`,
    the only word pieces of usual vocabularies that begin so, are no formulas and stay
    as they are.

    Raises:
        ValueError: no column, columns of several lengths, or one named `row`.
    """
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1 or ROW_COLUMN in columns:
        raise ValueError(
            f"`columns` must be of one length, and none called {ROW_COLUMN!r}. "
            f"Received: {[(name, len(values)) for name, values in columns.items()]}."
        )
    lines = [[*columns, ROW_COLUMN]]
    for index, values in enumerate(zip(*columns.values(), strict=True)):
        lines.append([*(str(value) for value in values), str(index)])
    return "".join("\t".join(map(_escaped, line)) + "\n" for line in lines)


def _escaped(text: str) -> str:
    escaped = text.translate(_ESCAPES)
    return escaped if len(escaped) == 1 else safe_cell(escaped)
