"""Checks of what the rows say: copies, contradictions, labels within texts."""

from __future__ import annotations

import numpy as np

from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.findings import Finding, example_rows
from bertviz_core.finetune.notes import excerpt, list_rows, note
from bertviz_core.finetune.split import Split, text_keys

_MANY_LABELS_IN_TEXT = 0.5


def check_same_texts(dataset: Dataset) -> list[Finding]:
    """Rows whose text comes again, with the same label and with another.

    Case, width and spacing do not count as a difference.

    Args:
        dataset: R rows.
    """
    groups: dict[str, list[int]] = {}
    for index, key in enumerate(text_keys(dataset)):
        groups.setdefault(key, []).append(index)
    repeated = [rows for rows in groups.values() if len(rows) > 1]
    num_copies = sum(len(rows) - 1 for rows in repeated)
    copies = note(
        "Copies stay on one side of the split. Remove them if they are a mistake."
    )
    findings = [
        Finding(
            "duplicates",
            "notice" if repeated else "good",
            note(
                "Rows that repeat the text of an earlier row: {count}.",
                count=num_copies,
            ),
            copies if repeated else None,
            {"num_copies": float(num_copies), "share": num_copies / len(dataset)},
            example_rows(dataset, [row for rows in repeated for row in rows]),
        )
    ]
    return [*findings, *_check_opposed(dataset, repeated)]


def check_leakage(dataset: Dataset, split: Split) -> Finding:
    """Validation rows whose text is also trained on.

    Args:
        dataset: R rows.
        split: of the same rows; `split_dataset` makes none that leaks.
    """
    keys = text_keys(dataset)
    trained = {keys[index] for index in split.train}
    leaked = [int(index) for index in split.validation if keys[index] in trained]
    return Finding(
        "leakage",
        "warning" if leaked else "good",
        note(
            "Validation rows whose text is also trained on: {count} of {total}.",
            count=len(leaked),
            total=len(split.validation),
        ),
        note("Take these rows out of the training data.") if leaked else None,
        {"num_rows": float(len(leaked))},
        example_rows(dataset, leaked),
    )


def check_opposed_files(dataset: Dataset, judged: Dataset) -> list[Finding]:
    """Texts of a table to judge by that have another label there, or in the table.

    Args:
        dataset: R rows of the table, before those that are in both were left out.
        judged: the other table.
    """
    keys = text_keys(judged)
    labels: dict[str, set[float]] = {key: set() for key in keys}
    for found, part in ((keys, judged), (text_keys(dataset), dataset)):
        for key, label in zip(found, part.labels.tolist(), strict=True):
            if key in labels:
                labels[key].add(label)
    opposed = [index for index, key in enumerate(keys) if len(labels[key]) > 1]
    if not opposed:
        return []
    return [
        Finding(
            "contradictions_of_files",
            "warning",
            note(
                "Rows of the validation file whose text has another label, there or "
                "in the table: {rows} ({count} in all).",
                count=len(opposed),
                rows=list_rows(judged.row_numbers[opposed]),
            ),
            note("Decide which label is right, and remove the other rows."),
            {"num_rows": float(len(opposed))},
        )
    ]


def check_label_words(dataset: Dataset) -> list[Finding]:
    """Texts that are, or give away, their own label.

    Args:
        dataset: R rows; numbers have no words to look for.
    """
    if dataset.is_regression:
        return []
    names = [name.casefold() for name in dataset.label_names]
    own = [names[label] for label in dataset.labels]
    texts = [text.casefold() for text in dataset.texts]
    same = [i for i, text in enumerate(texts) if text == own[i]]
    inside = [
        i for i, text in enumerate(texts) if _is_telling(own[i]) and own[i] in text
    ]
    if same:
        return [
            Finding(
                "label_is_text",
                "warning",
                note(
                    "Rows whose text is the label itself: {rows} ({count} in all).",
                    count=len(same),
                    rows=list_rows(dataset.row_numbers[same]),
                ),
                note("Choose another text column, or remove these rows."),
                {"num_rows": float(len(same))},
                example_rows(dataset, same),
            )
        ]
    if len(inside) > _MANY_LABELS_IN_TEXT * len(dataset):
        return [
            Finding(
                "label_in_text",
                "warning",
                note(
                    "In {count} rows the text holds the name of its label, so the "
                    "model may learn to look for that word.",
                    count=len(inside),
                ),
                note("Take the label out of the texts, unless you will have it later."),
                {"share": len(inside) / len(dataset)},
                example_rows(dataset, inside),
            )
        ]
    return []


def check_spelling(dataset: Dataset) -> list[Finding]:
    """Classes that differ only in case or spacing.

    Args:
        dataset: with classes.
    """
    spellings: dict[str, list[str]] = {}
    for name in dataset.label_names:
        spellings.setdefault("".join(name.casefold().split()), []).append(name)
    alike = [names for names in spellings.values() if len(names) > 1]
    if not alike:
        return []
    ids = [dataset.label_names.index(name) for names in alike for name in names[1:]]
    return [
        Finding(
            "spelling",
            "warning",
            note(
                "Some classes differ only in their spelling: {names}.",
                names=excerpt("; ".join(" / ".join(names) for names in alike), 200),
            ),
            note("Write each class in one way, unless they are different things."),
            {"num_classes": float(len(ids))},
            example_rows(dataset, np.flatnonzero(np.isin(dataset.labels, ids))),
        )
    ]


def _is_telling(name: str) -> bool:
    """Whether a name of a class in a text is no chance, as "0" or "no" would be.

    Two Chinese characters are a word.
    """
    return len(name) > (2 if name.isascii() else 1)


def _check_opposed(dataset: Dataset, repeated: list[list[int]]) -> list[Finding]:
    opposed = [rows for rows in repeated if len({*dataset.labels[rows].tolist()}) > 1]
    if not opposed:
        return []
    rows = [row for group in opposed for row in group]
    return [
        Finding(
            "contradictions",
            "warning",
            note(
                "Texts that occur with different labels: {count}. Rows: {rows}.",
                count=len(opposed),
                rows=list_rows(dataset.row_numbers[rows]),
            ),
            note("Decide which label is right, and remove the other rows."),
            {"num_texts": float(len(opposed)), "num_rows": float(len(rows))},
            example_rows(dataset, rows),
        ),
    ]
