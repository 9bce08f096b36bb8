"""Checks of what the rows say: copies, contradictions, labels within texts."""

from __future__ import annotations

import numpy as np

from bertviz_core.finetune.baselines import is_unspaced
from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.findings import Finding, example_rows
from bertviz_core.finetune.notes import excerpt, list_rows, note
from bertviz_core.finetune.scores import wilson_interval
from bertviz_core.finetune.split import text_keys

_MANY_LABELS_IN_TEXT = 0.5
# A giveaway: of the texts of a class that hold it, at least; of the texts that hold it,
# with another label, at most, out of those that chance would give it; of a class with
# fewer texts nothing is said. On honest tables in two languages the commonest telling
# token, “who” in questions about people, covers up to 0.77 of a class.
_LEAST_COVERED, _MOST_ELSEWHERE, _FEWEST_OF_CLASS = 0.8, 0.15, 15
_MOST_SEARCHED = 20_000
_TOKEN = r"(?u)\w+|[^\w\s]"


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


def check_opposed_files(dataset: Dataset, judged: Dataset) -> list[Finding]:
    """Texts of a table to test on that have another label there, or in the table.

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
                "Rows of the test file whose text has another label, there or "
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


def check_giveaways(dataset: Dataset) -> list[Finding]:
    """A token or pair of tokens that nearly always comes with one label, and often.

    Texts that stand twice count once. What a topic brings with it, as “who” does in
    questions about people, covers less of its class.

    Args:
        dataset: R rows; numbers have no classes to look for.
    """
    if dataset.is_regression:
        return []
    from sklearn.feature_extraction.text import CountVectorizer

    _, kept = np.unique(text_keys(dataset), return_index=True)
    if len(kept) > _MOST_SEARCHED:
        kept = np.random.default_rng(0).choice(kept, _MOST_SEARCHED, replace=False)
    part = dataset.select(np.sort(kept))
    joined = part.examples(np.arange(len(part))).joined
    options = {"analyzer": "char"} if is_unspaced(joined) else {"token_pattern": _TOKEN}
    try:
        counter = CountVectorizer(binary=True, ngram_range=(1, 2), **options)
        found = counter.fit_transform(joined).tocsc()
    except ValueError:  # not one token
        return []
    names, total = counter.get_feature_names_out(), found.sum(axis=0).A1
    findings = []
    for label in np.flatnonzero(part.counts >= _FEWEST_OF_CLASS):
        is_of_class = part.labels == label
        inside = found[is_of_class].sum(axis=0).A1
        elsewhere = wilson_interval(total - inside, total)[:, 1]
        is_telling = elsewhere < _MOST_ELSEWHERE * (1 - is_of_class.mean())
        share = np.where(is_telling, inside / is_of_class.sum(), 0.0)
        # Of equals the longest, which is easier to know again.
        best = max(range(len(share)), key=lambda i: (share[i], len(names[i])))
        if share[best] >= _LEAST_COVERED:
            rows = np.flatnonzero(found[:, [best]].toarray().ravel() & is_of_class)
            findings.append(
                _giveaway(part, str(names[best]), int(label), rows, int(total[best]))
            )
    return findings


def _giveaway(
    part: Dataset, name: str, label: int, rows: np.ndarray, total: int
) -> Finding:
    return Finding(
        "giveaway",
        "warning",
        note(
            "“{token}” gives the label away: of the texts labelled “{label}”, "
            "{percent} % hold it, and of {total} texts that hold it {count} have this "
            "label.",
            token=excerpt(name),
            label=excerpt(part.label_names[label]),
            percent=round(100 * len(rows) / int(part.counts[label])),
            total=total,
            count=len(rows),
        ),
        note(
            "If new texts will lack it, take it out of these: the model may look for "
            "nothing else."
        ),
        {"share": len(rows) / int(part.counts[label])},
        example_rows(part, rows),
    )


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
