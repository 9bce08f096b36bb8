"""What is odd about a dataset, with numbers, rows to look at and a remedy."""

from __future__ import annotations

import numpy as np

from bertviz_core.finetune.dataset import Dataset
from bertviz_core.finetune.findings import Finding, example_rows
from bertviz_core.finetune.lengths import Lengths
from bertviz_core.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.finetune.remedies import imbalance, propose_remedy
from bertviz_core.finetune.text_checks import (
    check_giveaways,
    check_label_words,
    check_same_texts,
    check_spelling,
)

# A class with fewer rows cannot be learned and measured with any certainty.
_FEW_ROWS = 10
# Shares from which a finding is a warning.
MUCH_CUT, _MANY_UNKNOWN = 0.1, 0.05


def check_dataset(
    dataset: Dataset,
    lengths: Lengths | None = None,
    max_tokens: int | None = None,
) -> tuple[Finding, ...]:
    """All checks of one dataset, warnings first.

    Args:
        dataset: R rows.
        lengths: of the same rows; without them nothing is said about lengths and
            unknown pieces.
        max_tokens: where texts are to be cut; `None` skips that check.
    """
    findings = [
        *check_same_texts(dataset),
        *check_label_words(dataset),
        *check_giveaways(dataset),
    ]
    if not dataset.is_regression:
        findings += check_classes(dataset)
    if lengths is not None:
        findings.append(check_unknown(dataset, lengths))
        if max_tokens is not None:
            findings.append(check_lengths(dataset, lengths, max_tokens))
    order = ("warning", "notice", "good")
    return tuple(sorted(findings, key=lambda found: order.index(found.severity)))


def check_classes(dataset: Dataset) -> list[Finding]:
    """Balance, and classes with few rows.

    Args:
        dataset: with classes.
    """
    counts = dataset.counts
    ratio = imbalance(counts)
    largest = dataset.label_names[int(counts.argmax())]
    findings = [
        Finding(
            "balance",
            "good" if propose_remedy(counts) == "none" else "warning",
            note(
                "The largest class, “{largest}”, has {ratio} times as many rows "
                "as the smallest.",
                largest=excerpt(largest),
                ratio=round(ratio, 1),
            ),
            _balance_remedy(counts),
            {"ratio": ratio, "majority_share": float(counts.max() / counts.sum())},
        )
    ]
    rare = np.flatnonzero((counts > 0) & (counts < _FEW_ROWS))
    if len(rare):
        names = ", ".join(
            f"{dataset.label_names[index]} ({counts[index]})" for index in rare
        )
        findings.append(
            Finding(
                "rare",
                "warning",
                note(
                    "Classes with fewer than {least} rows: {names} ({count} in all). "
                    "Rows: {rows}.",
                    count=len(rare),
                    rows=list_rows(dataset.row_numbers[np.isin(dataset.labels, rare)]),
                    least=_FEW_ROWS,
                    names=excerpt(names, 200),
                ),
                note("Add rows, or join the class with one that is like it."),
                {"num_classes": float(len(rare))},
                example_rows(dataset, np.flatnonzero(np.isin(dataset.labels, rare))),
            )
        )
    return findings + check_spelling(dataset)


def check_lengths(
    dataset: Dataset, lengths: Lengths, max_tokens: int, limit: int | None = None
) -> Finding:
    """What a maximum length cuts off.

    Args:
        dataset: R rows.
        lengths: of the same rows.
        max_tokens: special tokens counted.
        limit: what the model reads at most; `None` where that is not known.
    """
    share = lengths.share_cut(max_tokens)
    longest = np.argsort(-lengths.num_tokens, kind="stable")
    cut = longest[lengths.num_tokens[longest] > max_tokens]
    is_much = share > MUCH_CUT
    remedy = note("Raise the maximum length; training takes longer and more memory.")
    if limit is not None and max_tokens >= limit:
        remedy = note(
            "The model reads no more than {limit} tokens. Shorten the texts, or split "
            "them into several rows, so that what tells the label stands within.",
            limit=limit,
        )
    return Finding(
        "lengths",
        "warning" if is_much else "notice" if share else "good",
        note(
            "At {max_tokens} tokens, {percent} % of the texts lose their end. "
            "Half of the texts have up to {median} tokens, 95 % up to {p95}, the "
            "longest {longest}.",
            max_tokens=max_tokens,
            percent=round(100 * share, 1),
            median=lengths.percentile(50),
            p95=lengths.percentile(95),
            longest=int(lengths.num_tokens.max()),
        ),
        remedy if is_much else None,
        {"share_cut": share, "share_tokens_cut": lengths.share_tokens_cut(max_tokens)},
        example_rows(dataset, cut),
    )


def check_unknown(dataset: Dataset, lengths: Lengths) -> Finding:
    """How much of the texts the vocabulary has no pieces for.

    Args:
        dataset: R rows.
        lengths: of the same rows.
    """
    share = lengths.share_unknown
    worst = np.argsort(-lengths.num_unknown, kind="stable")
    has_unknown = worst[lengths.num_unknown[worst] > 0]
    is_much = share > _MANY_UNKNOWN
    remedy = note("Choose a model for the language of the texts.")
    return Finding(
        "unknown",
        "warning" if is_much else "notice" if share else "good",
        note(
            "{percent} % of the tokens are [UNK]: the model cannot read them. "
            "They are in {count} of the texts.",
            percent=round(100 * share, 2),
            count=len(has_unknown),
        ),
        remedy if is_much else None,
        {"share_unknown": share},
        example_rows(dataset, has_unknown),
    )


def _balance_remedy(counts: np.ndarray) -> Note | None:
    proposed = propose_remedy(counts)
    if proposed == "weights":
        return note("Let rows of rare classes count more: class weights.")
    if proposed == "oversample":
        return note("Repeat rows of rare classes in training: oversampling.")
    return None
