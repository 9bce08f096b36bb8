"""What a page says of the rows before they are trained on: what is odd, and what to do.

Shapes: R rows, C classes, U different lengths.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertviz_core.numbers import number_text
from bertviz_core.tasks import task
from bertviz_core.trace import FrozenArrays
from bertviz_core.training.finetune.baselines import is_unspaced
from bertviz_core.training.finetune.dataset import Dataset, Examples, TrainingData
from bertviz_core.training.finetune.evaluation import wilson_interval
from bertviz_core.training.finetune.notes import Note, excerpt, list_rows, note
from bertviz_core.training.finetune.split import (
    PreparedData,
    imbalance,
    num_oversampled,
    propose_remedy,
    text_groups,
    text_keys,
)

if TYPE_CHECKING:
    from bertviz_core.explorer import Explorer
    from bertviz_core.tokenizer import BertTokenizer

# Rows that a finding names.
MAX_ROWS = 500
# A class with fewer rows cannot be learned and measured with any certainty.
_FEW_ROWS = 10
# Shares from which a finding is a warning.
MUCH_CUT, _MANY_UNKNOWN = 0.1, 0.05
_MANY_LABELS_IN_TEXT = 0.5
# A giveaway: of the texts of a class that hold it, at least; of the texts that hold it,
# with another label, at most, out of those that chance would give it; of a class with
# fewer texts nothing is said. On honest tables in two languages the commonest telling
# token, “who” in questions about people, covers up to 0.77 of a class.
_LEAST_COVERED, _MOST_ELSEWHERE, _FEWEST_OF_CLASS = 0.8, 0.15, 15
# One that is surer need cover less: of those tables, the next best covers 0.36.
_LESS_COVERED, _HARDLY_ELSEWHERE = 0.5, 0.04
# Of a class with fewer texts, a token that nearly all hold and no others.
_ALL_COVERED, _FEWEST_OF_ALL = 0.95, 10
_MOST_SEARCHED = 20_000
_TOKEN = r"(?u)\w+|[^\w\s]"
_NUM_BINS = 20
# Rows whose tokens are counted. A share of them is right within 0.7 points, 19 times
# of 20, which no slider shows.
MAX_MEASURED = 20_000
# Texts tokenized at once: bounds memory, and a step is still milliseconds.
_BATCH_ROWS = 1_000
# Lengths are padded to multiples of 8 in training, so that nothing is saved below.
_STEP = 8


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed."""

    # Which check, a key for pages: "balance", "rare", "lengths", "unknown",
    # "duplicates", "contradictions", "label_is_text", "label_in_text", "giveaway",
    # "spelling", "contradictions_of_files".
    kind: str
    severity: str  # "good", "notice" or "warning"
    message: Note  # what was found
    remedy: Note | None = None  # what to do, or `None`
    rows: tuple[int, ...] = ()  # row numbers of the file to look at, at most `MAX_ROWS`


@dataclass(frozen=True)
class LengthCounts(FrozenArrays):
    """How many rows have how many tokens: enough for a slider without a call."""

    num_tokens: np.ndarray  # int [U], ascending; special tokens counted, nothing cut
    num_rows: np.ndarray  # int [U], rows of each length

    def percentile(self, percent: float) -> int:
        """The length that so many percent of rows do not exceed."""
        reached = np.cumsum(self.num_rows)
        wanted = max(1, math.ceil(percent / 100 * int(reached[-1]) - 1e-9))
        return int(self.num_tokens[np.searchsorted(reached, wanted)])

    def share_cut(self, max_tokens: int) -> float:
        """Share of rows, in [0, 1], that lose tokens at this maximum."""
        cut = self.num_rows[self.num_tokens > max_tokens].sum()
        return float(cut / self.num_rows.sum())

    def share_tokens_cut(self, max_tokens: int) -> float:
        """Share of all tokens, in [0, 1], that this maximum cuts off."""
        lost = np.maximum(self.num_tokens - max_tokens, 0) * self.num_rows
        return float(lost.sum() / (self.num_tokens * self.num_rows).sum())

    def default_max_tokens(self, max_position_embeddings: int) -> int:
        """The length that 95% of rows keep to, in steps of 8; the positions at most."""
        rounded = math.ceil(self.percentile(95) / _STEP) * _STEP
        return min(rounded, max_position_embeddings)


@dataclass(frozen=True)
class Lengths(FrozenArrays):
    """Tokens of every row."""

    num_tokens: np.ndarray  # int32 [R], special tokens counted, nothing cut
    num_unknown: np.ndarray  # int32 [R], those that are [UNK]
    num_special: int  # tokens that are added to each row: 2, or 3 for a pair

    @property
    def counts(self) -> LengthCounts:
        values, counts = np.unique(self.num_tokens, return_counts=True)
        return LengthCounts(values.astype("int64"), counts.astype("int64"))

    @property
    def share_unknown(self) -> float:
        """Share of tokens, in [0, 1], special ones left out, that are [UNK]."""
        num_own = self.num_tokens.sum() - self.num_special * len(self.num_tokens)
        return float(self.num_unknown.sum() / num_own) if num_own else 0.0


@dataclass(frozen=True)
class DataCheck(FrozenArrays):
    """What was found in the rows that can be used."""

    label_names: tuple[str, ...]  # class names; for numbers what is predicted
    is_regression: bool  # labels are numbers
    label_edges: np.ndarray  # float [21], edges of equal ranges; [0] for classes
    # train_counts, validation_counts, test_counts: int [C], rows to learn from, to
    # choose the epoch by, which may be none, and to test on, of each class; for numbers
    # [20], of each range.
    train_counts: np.ndarray
    validation_counts: np.ndarray
    test_counts: np.ndarray
    notes: tuple[Note, ...]  # which rows were left out and why; what cannot be split
    validation_notes: tuple[Note, ...]  # the same of a table to test on
    warnings: tuple[Note, ...]  # those of both notes that nobody may miss
    findings: tuple[Finding, ...]  # warnings first
    remedy: str  # proposal for unequal classes, one of `split.REMEDIES`
    lengths: LengthCounts  # of the rows in all parts; of very many, of some
    share_unknown: float  # share of tokens, in [0, 1], that are [UNK]
    default_max_tokens: int  # what 95% of the rows keep to, in steps of 8
    max_position_embeddings: int  # of the model; no maximum may be above it

    @property
    def num_train(self) -> int:
        return int(self.train_counts.sum())

    @property
    def num_validation(self) -> int:
        """Rows to choose the epoch by; may be 0."""
        return int(self.validation_counts.sum())

    @property
    def num_test(self) -> int:
        return int(self.test_counts.sum())

    @property
    def num_rows(self) -> int:
        return self.num_train + self.num_validation + self.num_test

    @property
    def by_size(self) -> np.ndarray:
        """Indices of the classes, int `[C]`, largest first.

        By rows to learn from, as a remedy is chosen; equals by rows to test on.
        """
        return np.lexsort((-self.test_counts, -self.train_counts))

    @property
    def num_oversampled(self) -> int:
        """Rows to learn from where those of rare classes are repeated."""
        if self.is_regression:
            return self.num_train
        return num_oversampled(self.train_counts)

    def finding(self, kind: str) -> Finding | None:
        return next((found for found in self.findings if found.kind == kind), None)


@dataclass(frozen=True)
class DataRow:
    """One row as a page shows it."""

    row: int  # its number in the file, from 1
    text: str  # the first text
    pair: str | None  # the second text, or `None`
    label: str  # name of the class, or the number as text


def rows_of(
    examples: Examples, labels: tuple[str, ...], indices: Sequence[int]
) -> tuple[DataRow, ...]:
    """Some rows by index, in this order; an index that is none is passed over."""
    is_class = np.issubdtype(examples.targets.dtype, np.integer)
    return tuple(
        DataRow(
            row=int(examples.rows[index]),
            text=examples.texts[index],
            pair=None if examples.pairs is None else examples.pairs[index],
            label=labels[int(examples.targets[index])]
            if is_class
            else number_text(examples.targets[index]),
        )
        for index in indices
        if 0 <= index < len(examples)
    )


def measure_lengths(dataset: Dataset, tokenizer: BertTokenizer) -> Lengths:
    """Tokenizes every row once."""
    sizes, unknown = _count(dataset.texts, tokenizer)
    num_special = 2
    if dataset.pairs is not None:
        more, more_unknown = _count(dataset.pairs, tokenizer)
        sizes, unknown, num_special = sizes + more, unknown + more_unknown, 3
    return Lengths(sizes + num_special, unknown, num_special)


def _count(
    texts: Sequence[str], tokenizer: BertTokenizer
) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.zeros(len(texts), "int32")
    unknown = np.zeros(len(texts), "int32")
    for start in range(0, len(texts), _BATCH_ROWS):
        rows = tokenizer.encode_many(texts[start : start + _BATCH_ROWS])
        for index, ids in enumerate(rows, start):
            sizes[index] = len(ids)
            unknown[index] = ids.count(tokenizer.unk_token_id)
    return sizes, unknown


@task()
def check_data(explorer: Explorer, prepared: PreparedData) -> DataCheck:
    """Runs all checks of the rows, in the words of the model that would be trained."""
    max_position_embeddings = explorer.config.max_position_embeddings
    data, trained = prepared.data, _trained(prepared)
    rows = _in_use(prepared, trained)
    measured, notes = rows, prepared.notes
    if len(rows) > MAX_MEASURED:
        rng = np.random.default_rng(0)
        drawn = rng.choice(len(rows), MAX_MEASURED, replace=False)
        measured = rows.select(np.sort(drawn))
        told = note(
            "Lengths and unknown words are those of {count} of {total} rows, drawn at "
            "random.",
            count=len(measured),
            total=len(rows),
        )
        notes += (told,)
    lengths = measure_lengths(measured, explorer.tokenizer)
    default = lengths.counts.default_max_tokens(max_position_embeddings)
    found = (
        *check_dataset(trained),
        *([] if prepared.judged is None else _check_opposed_files(prepared)),
        check_unknown(measured, lengths),
        check_lengths(measured, lengths, default, max_position_embeddings),
    )
    edges = _edges(data)
    num_classes = len(data.labels)
    return DataCheck(
        label_names=data.labels,
        is_regression=data.is_regression,
        label_edges=edges,
        train_counts=_counts(data.train, edges, num_classes),
        validation_counts=_counts(data.validation, edges, num_classes),
        test_counts=_counts(data.test, edges, num_classes),
        notes=notes,
        validation_notes=prepared.validation_notes,
        warnings=prepared.warnings,
        findings=_warnings_first(found),
        remedy="none" if data.is_regression else propose_remedy(trained.counts),
        lengths=lengths.counts,
        share_unknown=lengths.share_unknown,
        default_max_tokens=default,
        max_position_embeddings=max_position_embeddings,
    )


def _trained(prepared: PreparedData) -> Dataset:
    """The rows of the table that are still there to learn from and to choose by."""
    dataset, data = prepared.dataset, prepared.data
    if prepared.judged is None:
        return dataset
    kept = np.concatenate([data.train.rows, data.validation.rows])
    is_kept = np.isin(dataset.rows, kept)
    return dataset.select(np.flatnonzero(is_kept))


def _in_use(prepared: PreparedData, trained: Dataset) -> Dataset:
    """All rows that a model meets: those to learn from and those to test on.

    Rows of a table to test on have the number 0: theirs would name rows of the table.
    """
    judged = prepared.judged
    if judged is None:
        return trained
    return dataclasses.replace(
        trained,
        texts=trained.texts + judged.texts,
        pairs=trained.pairs and trained.pairs + (judged.pairs or ()),
        targets=np.concatenate([trained.targets, judged.targets]),
        rows=np.append(trained.rows, np.zeros(len(judged), "int64")),
    )


def _edges(data: TrainingData) -> np.ndarray:
    if not data.is_regression:
        return np.empty(0)
    # A table to test on may go beyond what there is to learn from.
    parts = (data.train, data.validation, data.test)
    targets = np.concatenate([part.targets for part in parts])
    return np.histogram_bin_edges(targets.astype("float64"), _NUM_BINS)


def _counts(part: Examples, edges: np.ndarray, num_classes: int) -> np.ndarray:
    if not len(edges):
        return np.bincount(part.targets, minlength=num_classes)
    return np.histogram(part.targets.astype("float64"), edges)[0]


def _warnings_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    order = ("warning", "notice", "good")
    return tuple(sorted(findings, key=lambda found: order.index(found.severity)))


# By kind: what is said of it.
_SAID: Mapping[str, Note] = {
    "duplicates": note("Rows that repeat the text of an earlier row: {count}."),
    "contradictions": note(
        "Texts that occur with different labels: {count}. Rows: {rows}."
    ),
    "contradictions_of_files": note(
        "Rows of the test file whose text has another label, there or in the table: "
        "{rows} ({count} in all)."
    ),
    "label_is_text": note(
        "Rows whose text is the label itself: {rows} ({count} in all)."
    ),
    "label_in_text": note(
        "In {count} rows the text holds the name of its label, so the model may learn "
        "to look for that word."
    ),
    "giveaway": note(
        "“{token}” gives the label away: of the texts labelled “{label}”, {percent}% "
        "hold it, and of {total} texts that hold it {count} have this label."
    ),
    "balance": note(
        "The largest class, “{largest}”, has {ratio} times as many rows as the "
        "smallest."
    ),
    "rare": note(
        "Classes with fewer than {least} rows: {names} ({count} in all). Rows: {rows}."
    ),
    "spelling": note("Some classes differ only in their spelling: {names}."),
    "lengths": note(
        "At {max_tokens} tokens, {percent}% of the texts lose their end. Half of the "
        "texts have up to {median} tokens, 95% up to {p95}, the longest {longest}."
    ),
    "unknown": note(
        "{percent}% of the tokens are [UNK]: the model cannot read them. They are in "
        "{count} of the texts."
    ),
}
# And what to do.
_ADVICE: Mapping[str, Note] = {
    "duplicates": note(
        "Copies stay on one side of the split. Remove them if they are a mistake."
    ),
    "contradictions": note("Decide which label is right, and remove the other rows."),
    "label_is_text": note("Choose another text column, or remove these rows."),
    "label_in_text": note(
        "Take the label out of the texts, unless you will have it later."
    ),
    "giveaway": note(
        "If new texts will lack it, take it out of these: the model may look for "
        "nothing else."
    ),
    "rare": note("Add rows, or join the class with one that is like it."),
    "spelling": note("Write each class in one way, unless they are different things."),
    "lengths": note("Raise the maximum length; training takes longer and more memory."),
    "unknown": note("Choose a model for the language of the texts."),
}
_BALANCE = {
    "weights": note("Let rows of rare classes count more: class weights."),
    "oversample": note("Repeat rows of rare classes in training: oversampling."),
}


def _finding(
    kind: str,
    dataset: Dataset,
    indices: Sequence[int] | np.ndarray = (),
    severity: str = "warning",
    remedy: Note | None = None,
    **details: str | float,
) -> Finding:
    """What `_SAID` says of a kind; only a warning comes with advice.

    Rows of another file, whose number is 0, are not named.
    """
    message, advice = _SAID[kind][0], _ADVICE.get(kind.removesuffix("_of_files"))
    if "{rows}" in message:
        details["rows"] = list_rows(dataset.rows[list(indices)])
    numbers = (int(dataset.rows[int(index)]) for index in indices)
    return Finding(
        kind,
        severity,
        (message, details),
        remedy or (advice if severity == "warning" else None),
        tuple(itertools.islice(filter(None, numbers), MAX_ROWS)),
    )


def check_dataset(dataset: Dataset) -> tuple[Finding, ...]:
    """All checks of texts and labels, warnings first."""
    findings = check_same_texts(dataset)
    if not dataset.is_regression:
        findings += [
            *check_label_words(dataset),
            *check_giveaways(dataset),
            *check_classes(dataset),
            *check_spelling(dataset),
        ]
    return _warnings_first(findings)


def check_same_texts(dataset: Dataset) -> list[Finding]:
    """Rows whose text comes again, with the same label and with another."""
    repeated = [rows for rows in text_groups(dataset) if len(rows) > 1]
    opposed = [rows for rows in repeated if len({*dataset.targets[rows].tolist()}) > 1]
    found = [
        _finding(
            "duplicates",
            dataset,
            list(itertools.chain(*repeated)),
            "notice" if repeated else "good",
            _ADVICE["duplicates"] if repeated else None,
            count=sum(len(rows) - 1 for rows in repeated),
        )
    ]
    if opposed:
        rows = list(itertools.chain(*opposed))
        found.append(_finding("contradictions", dataset, rows, count=len(opposed)))
    return found


def _check_opposed_files(prepared: PreparedData) -> list[Finding]:
    """Texts of a table to test on that have another label there, or in the table."""
    dataset, judged = prepared.dataset, prepared.judged
    if judged is None:
        return []
    keys = text_keys(judged)
    labels: dict[str, set[float]] = {key: set() for key in keys}
    # Also rows of the table that were left out as they are in both.
    for found, part in ((keys, judged), (text_keys(dataset), dataset)):
        for key, label in zip(found, part.targets.tolist(), strict=True):
            if key in labels:
                labels[key].add(label)
    opposed = [index for index, key in enumerate(keys) if len(labels[key]) > 1]
    if not opposed:
        return []
    said = _finding("contradictions_of_files", judged, opposed, count=len(opposed))
    return [dataclasses.replace(said, rows=())]  # they would be taken for the table's


def check_label_words(dataset: Dataset) -> list[Finding]:
    """Texts that are, or give away, their own label."""
    names = [name.casefold() for name in dataset.label_names]
    own = [names[label] for label in dataset.targets]
    texts = [text.casefold() for text in dataset.texts]
    if same := [i for i, text in enumerate(texts) if text == own[i]]:
        return [_finding("label_is_text", dataset, same, count=len(same))]
    inside = [
        i for i, text in enumerate(texts) if _is_telling(own[i]) and own[i] in text
    ]
    if len(inside) <= _MANY_LABELS_IN_TEXT * len(dataset):
        return []
    return [_finding("label_in_text", dataset, inside, count=len(inside))]


def _is_telling(name: str) -> bool:
    """Whether a name of a class in a text is no chance, as "0" or "no" would be.

    Two Chinese characters are a word.
    """
    return len(name) > (2 if name.isascii() else 1)


def check_giveaways(dataset: Dataset) -> list[Finding]:
    """A token or pair of tokens that nearly always comes with one label, and often.

    Texts that stand twice count once. What a topic brings with it, as “who” does in
    questions about people, covers less of its class.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    _, kept = np.unique(text_keys(dataset), return_index=True)
    if len(kept) > _MOST_SEARCHED:
        kept = np.random.default_rng(0).choice(kept, _MOST_SEARCHED, replace=False)
    part = dataset.select(np.sort(kept))
    joined = part.joined
    options = {"analyzer": "char"} if is_unspaced(joined) else {"token_pattern": _TOKEN}
    try:
        counter = CountVectorizer(binary=True, ngram_range=(1, 2), **options)
        found = counter.fit_transform(joined).tocsc()
    except ValueError:  # not one token
        return []
    names, total = counter.get_feature_names_out(), found.sum(axis=0).A1
    findings = []
    for label in np.flatnonzero(part.counts >= _FEWEST_OF_ALL):
        is_of_class = part.targets == label
        inside = found[is_of_class].sum(axis=0).A1
        share, chance = inside / is_of_class.sum(), 1 - is_of_class.mean()
        elsewhere = wilson_interval(total - inside, total)[:, 1]
        is_telling = (share >= _ALL_COVERED) & (inside == total)
        if is_of_class.sum() >= _FEWEST_OF_CLASS:
            often = (share >= _LEAST_COVERED) & (elsewhere < _MOST_ELSEWHERE * chance)
            surely = (share >= _LESS_COVERED) & (elsewhere < _HARDLY_ELSEWHERE)
            is_telling |= often | surely
        share = np.where(is_telling, share, 0.0)
        # Of equals the longest, which is easier to know again.
        best = max(range(len(share)), key=lambda i: (share[i], len(names[i])))
        if not share[best]:
            continue
        rows = np.flatnonzero(found[:, [best]].toarray().ravel() & is_of_class)
        findings.append(
            _finding(
                "giveaway",
                part,
                rows,
                token=excerpt(str(names[best])),
                label=excerpt(part.label_names[label]),
                percent=round(100 * share[best]),
                total=int(total[best]),
                count=len(rows),
            )
        )
    return findings


def check_classes(dataset: Dataset) -> list[Finding]:
    """Balance, and classes with few rows."""
    counts, names = dataset.counts, dataset.label_names
    remedy = _BALANCE.get(propose_remedy(counts))
    largest = excerpt(names[int(counts.argmax())])
    ratio = round(imbalance(counts), 1)
    severity = "warning" if remedy else "good"
    findings = [
        _finding("balance", dataset, (), severity, remedy, largest=largest, ratio=ratio)
    ]
    rare = np.flatnonzero((counts > 0) & (counts < _FEW_ROWS))
    if len(rare):
        rows = np.flatnonzero(np.isin(dataset.targets, rare))
        told = ", ".join(f"{names[index]} ({counts[index]})" for index in rare)
        told = excerpt(told, 200)
        findings.append(
            _finding(
                "rare", dataset, rows, least=_FEW_ROWS, names=told, count=len(rare)
            )
        )
    return findings


def check_spelling(dataset: Dataset) -> list[Finding]:
    """Classes that differ only in case, width, spacing or what nobody sees."""
    spellings: dict[str, list[str]] = {}
    for name in dataset.label_names:
        spellings.setdefault(_as_seen(name), []).append(name)
    alike = [names for names in spellings.values() if len(names) > 1]
    if not alike:
        return []
    ids = [dataset.label_names.index(name) for names in alike for name in names[1:]]
    rows = np.flatnonzero(np.isin(dataset.targets, ids))
    told = excerpt("; ".join(" / ".join(names) for names in alike), 200)
    return [_finding("spelling", dataset, rows, names=told)]


def _as_seen(name: str) -> str:
    """A name without case, width, spaces and zero-width characters."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(
        c for c in folded if not c.isspace() and unicodedata.category(c) != "Cf"
    )


def check_lengths(
    dataset: Dataset, lengths: Lengths, max_tokens: int, limit: int
) -> Finding:
    """What `max_tokens` cuts off; the model reads `limit` tokens at most."""
    counts = lengths.counts
    share = counts.share_cut(max_tokens)
    longest = np.argsort(-lengths.num_tokens, kind="stable")
    severity, remedy = _severity(share, MUCH_CUT), None
    if severity == "warning" and max_tokens >= limit:
        remedy = note(
            "The model reads no more than {limit} tokens. Shorten the texts, or split "
            "them into several rows, so that what tells the label stands within.",
            limit=limit,
        )
    return _finding(
        "lengths",
        dataset,
        longest[lengths.num_tokens[longest] > max_tokens],
        severity,
        remedy,
        max_tokens=max_tokens,
        percent=round(100 * share, 1),
        median=counts.percentile(50),
        p95=counts.percentile(95),
        longest=int(counts.num_tokens[-1]),
    )


def check_unknown(dataset: Dataset, lengths: Lengths) -> Finding:
    """How much of the texts the vocabulary has no pieces for."""
    share = lengths.share_unknown
    worst = np.argsort(-lengths.num_unknown, kind="stable")
    rows = worst[lengths.num_unknown[worst] > 0]
    severity, percent = _severity(share, _MANY_UNKNOWN), round(100 * share, 2)
    return _finding(
        "unknown", dataset, rows, severity, percent=percent, count=len(rows)
    )


def _severity(share: float, much: float) -> str:
    return "warning" if share > much else "notice" if share else "good"
