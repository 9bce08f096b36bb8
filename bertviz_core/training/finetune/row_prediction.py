"""What a trained classifier says: of a text, of many, of a table, and as a file."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from bertviz_core.cells import safe_cell
from bertviz_core.errors import DatasetError, TextError, TrainingError, reason_of
from bertviz_core.explorer import Explorer
from bertviz_core.numbers import number_text
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import FrozenArrays, TokenizedText
from bertviz_core.training.finetune.batches import TokenRows, by_length, tokenize
from bertviz_core.training.finetune.columns import is_absent
from bertviz_core.training.finetune.dataset import Examples
from bertviz_core.training.finetune.table import Table, free_names
from bertviz_core.whole_files import new_file

# Of the work on a table, cutting texts into tokens is the smaller part.
_TOKENIZING = 0.1
# Rows times tokens of one pass at most, padding counted, if it is not a single row.
_TOKENS_A_PASS = 4096
_LOGITS = "class_logits"


@dataclass(frozen=True)
class ReadText(FrozenArrays):
    """What a trained model says of one text."""

    model_id: str  # which model
    labels: tuple[str, ...]  # C class names, or the name of the number
    text: str  # what was read, without what is beyond the last token
    pair: str | None  # likewise
    tokenized: TokenizedText  # the same, in tokens
    num_tokens_uncut: int  # tokens before anything was cut
    outputs: np.ndarray  # float64 [C]: probabilities that sum to 1, or the number
    is_regression: bool  # whether `outputs` is a number

    @property
    def was_cut(self) -> bool:
        return self.num_tokens_uncut > self.tokenized.num_tokens

    @property
    def best(self) -> int:
        """Index of the likeliest class; 0 for a number."""
        return int(self.outputs.argmax())


@dataclass(frozen=True)
class PredictedRow:
    """One row of a table, and what the model says of it."""

    row: int  # number of the file, from 1
    text: str  # its first text
    label: str  # the likeliest class; "" for numbers
    value: float  # probability of that class, or the number


@dataclass(frozen=True)
class TablePredictions(FrozenArrays):
    """What a trained model said of a table; the whole of it lies in a file."""

    labels: tuple[str, ...]  # C class names, or the name of the number
    is_regression: bool  # whether numbers were predicted
    num_rows: int  # of the table
    num_empty: int  # rows without a text, which have no prediction
    num_cut: int  # rows whose end was left out
    counts: np.ndarray  # int [C], rows of each predicted class; [1] for numbers
    first: tuple[PredictedRow, ...]  # some rows of the beginning
    path: str  # of the CSV file; the same with ".jsonl" has the exact texts


@task()
def read_text(
    explorer: Explorer, text: str, pair: str | None = None, max_tokens: int = 0
) -> ReadText:
    """Asks the classifier about one text; for a `TextError` see `Explorer.tokenize`."""
    explorer.require_head("classifier")
    whole = explorer.tokenize(text, pair, cut=True)
    text, pair = cut_texts(explorer, text, pair, max_tokens)
    tokenized = explorer.tokenize(text, pair, cut=True)
    logits = explorer.forward(tokenized.inputs, (_LOGITS,))[_LOGITS]
    return ReadText(
        model_id=explorer.model_id,
        labels=explorer.loaded.labels,
        text=text,
        pair=pair,
        tokenized=tokenized,
        num_tokens_uncut=whole.num_tokens_uncut,
        outputs=_outputs(logits)[0],
        is_regression=logits.shape[1] == 1,
    )


def cut_texts(
    explorer: Explorer, text: str, pair: str | None, max_tokens: int
) -> tuple[str, str | None]:
    """Shortens texts so that they become at most so many tokens.

    Whoever reads the result with a tokenizer that cuts nothing gets the tokens that one
    with `max_tokens` would have kept, if these have room for a token of each text, but
    for pieces of half a Korean syllable.
    """
    limit = most_tokens(explorer, max_tokens)
    kept = explorer.tokenizer.encode(text, pair, limit, cut=True)
    if not kept.was_cut:
        return text, pair
    own = ~kept.is_added
    ends = [
        int(kept.offsets[own & (kept.token_type_ids == segment), 1].max(initial=0))
        for segment in (0, 1)
    ]
    return text[: ends[0]], None if pair is None else pair[: ends[1]]


def predict_rows(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    max_tokens: int = 0,
    progress: Progress = untold,
) -> tuple[np.ndarray, int]:
    """Asks the classifier about R texts; an empty one is read as such.

    Rows of nearly the same length go through the network together. float32 `[R, C]`,
    probabilities, or numbers; and how many rows lost their end. No rows are a
    `TextError`.
    """
    explorer.require_head("classifier")
    rows = token_rows(explorer, texts, pairs, max_tokens, progress)
    # A million rows of many classes would not fit in double precision.
    shape = (len(texts), explorer.loaded.model.num_labels)
    outputs = np.empty(shape, np.float32)
    for chosen, logits in row_passes(explorer, rows, _LOGITS, progress):
        outputs[chosen] = _outputs(logits)
    return outputs, rows.num_cut


def token_rows(
    explorer: Explorer,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    max_tokens: int,
    progress: Progress,
) -> TokenRows:
    """Splits R texts as the classifier reads them, the first tenth of `progress`.

    Raises:
        TextError: no rows, or pairs for a model that reads one text at a time.
    """
    if not texts:
        raise TextError("There are no texts. Give at least one.")
    if pairs is not None:
        # One pair says for all whether the model knows two segments.
        explorer.tokenize("a", "a", cut=True)

    nothing = np.zeros(len(texts), "int32")
    examples = Examples(
        tuple(texts), None if pairs is None else tuple(pairs), nothing, nothing
    )
    return tokenize(
        explorer.tokenizer,
        examples,
        most_tokens(explorer, max_tokens),
        lambda share: progress(share * _TOKENIZING, "tokenize"),
    )


def row_passes(
    explorer: Explorer, rows: TokenRows, name: str, progress: Progress
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sends rows of nearly the same length through the network together.

    `progress` goes on after the tenth of `token_rows`. Yields int `[B]`, which rows,
    and the output of that name of `Explorer.forward`.
    """
    done, total = 0, int(rows.lengths.sum())
    for chosen in by_tokens(rows.lengths):
        yield chosen, explorer.forward(rows.batch(chosen), (name,))[name]
        done += int(rows.lengths[chosen].sum())  # the longest rows come last
        progress(_TOKENIZING + (1 - _TOKENIZING) * (done / total), "read rows")


def by_tokens(lengths: np.ndarray) -> list[np.ndarray]:
    """Rows by their lengths, in batches of about as many tokens, the shortest first."""
    batches: list[np.ndarray] = []
    for batch in by_length(lengths, 64):
        size = max(1, _TOKENS_A_PASS // int(lengths[batch].max()))
        batches += [batch[i : i + size] for i in range(0, len(batch), size)]
    return batches


def most_tokens(explorer: Explorer, max_tokens: int) -> int:
    """Where rows are cut: 0 as in `read_text`."""
    positions = explorer.config.max_position_embeddings
    wanted = max_tokens or explorer.loaded.trained_inputs.max_tokens
    return min(wanted, positions) if wanted else positions


def _outputs(logits: np.ndarray) -> np.ndarray:
    """Probabilities `[R, C]`, or the numbers themselves `[R, 1]`."""
    if logits.shape[1] == 1:
        return logits.astype(np.float64)
    from scipy.special import softmax

    return softmax(logits.astype("float64"), axis=1)


PREDICTED = "predicted"


@dataclass(frozen=True)
class PredictedTable:
    """The rows of a table, and what a model says of them.

    A class is followed by its probability and those of all; a name that is there
    already gets a number.
    """

    columns: Sequence[str]  # names of the table
    # Objects [R, num_columns]: str, int, or float, which is meant in float32.
    cells: np.ndarray
    labels: Sequence[str]  # C class names, or the name of the number
    outputs: np.ndarray  # float [R, C]; NaN where a row has no prediction
    is_regression: bool  # whether `outputs` are numbers

    def write_csv(self, file: TextIO) -> None:
        """Writes it so that no cell is taken for a formula; see `safe_cell`.

        The file is opened with `newline=""` and "utf-8-sig", for Excel to read Chinese.
        """
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(map(safe_cell, self._names()))
        told = number_text if self.is_regression else "{:.6f}".format
        for row, added in self._rows():
            said = [told(v) if isinstance(v, float) else _cell(v) for v in added]
            writer.writerow([*map(_cell, row), *said])

    def write_json_lines(self, file: TextIO) -> None:
        """Writes an object a line, with all texts and numbers as they are."""
        names = self._names()
        for row, added in self._rows():
            values = dict(zip(names, [*row, *added], strict=True))
            file.write(json.dumps(values, ensure_ascii=False) + "\n")

    def save(self, path: Path) -> None:
        """Writes a CSV file, and beside it, as ".jsonl", the exact texts."""
        for name, encoding, write in (
            (path, "utf-8-sig", self.write_csv),
            (path.with_suffix(".jsonl"), "utf-8", self.write_json_lines),
        ):
            with (
                new_file(name) as scratch,
                scratch.open("w", encoding=encoding, newline="") as file,
            ):
                write(file)

    def _names(self) -> list[str]:
        added = [PREDICTED]
        if not self.is_regression:
            added += [f"p({label})" for label in self.labels]
        return [*self.columns, *free_names(added, self.columns)]

    def _rows(self) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """The cells of each row, and what is added; `None` for one without a text."""
        for row, values in zip(self.cells, self.outputs, strict=True):
            added: list[Any] = values.tolist()
            if not self.is_regression:
                added.insert(0, self.labels[values.argmax()])
            yield row, [None] * len(added) if np.isnan(values[0]) else added


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return number_text(value)
    return safe_cell(value) if isinstance(value, str) else value


NUM_FIRST = 20


def predict_table(
    explorer: Explorer,
    table: Table,
    columns: tuple[str, str | None],
    max_tokens: int,
    path: Path,
    progress: Progress = untold,
) -> TablePredictions:
    """Predicts every row that has a text, and writes them all to a file.

    `columns` name that with texts, and that with second texts or `None`; `path` is as
    in `PredictedTable.save`, and what is there is replaced.

    Raises:
        DatasetError: no such column, or no row has a text.
        TextError: second texts for a model that reads one at a time.
        TrainingError: the file cannot be written.
    """
    texts = table.stripped(columns[0])
    pairs = None if columns[1] is None else table.stripped(columns[1])
    asked = [
        row
        for row, text in enumerate(texts)
        if not is_absent(text) and (pairs is None or not is_absent(pairs[row]))
    ]
    if not asked:
        raise DatasetError(
            "No row of the column {column} has a text. Received: {num_rows} rows. "
            "Choose another column.",
            column=columns[0],
            num_rows=table.num_rows,
        )
    found, num_cut = predict_rows(
        explorer,
        [texts[row] for row in asked],
        None if pairs is None else [pairs[row] for row in asked],
        max_tokens,
        progress,
    )
    labels, is_regression = explorer.loaded.labels, found.shape[1] == 1
    outputs = np.full((table.num_rows, found.shape[1]), np.nan, np.float32)
    outputs[asked] = found
    likeliest = found.argmax(axis=1)
    predicted = PredictedTable(
        table.columns, table.cells, labels, outputs, is_regression
    )
    try:
        predicted.save(path)
    except OSError as error:
        raise TrainingError(
            "The predictions cannot be stored on the server. Received: {reason}. Its "
            "disk may be full; try a smaller file.",
            reason=reason_of(error),
        ) from error
    return TablePredictions(
        labels=labels,
        is_regression=is_regression,
        num_rows=table.num_rows,
        num_empty=table.num_rows - len(asked),
        num_cut=num_cut,
        counts=np.bincount(likeliest, minlength=len(labels)),
        first=tuple(
            PredictedRow(
                row=int(table.row_numbers[row]),
                text=texts[row],
                label="" if is_regression else labels[best],
                value=float(outputs[row, best]),
            )
            for row, best in zip(asked[:NUM_FIRST], likeliest.tolist(), strict=False)
        ),
        path=str(path),
    )
