"""Does the second text follow the first? BERT's other pre-training question."""

from collections.abc import Sequence

import numpy as np

from bertviz_core.analysis.logit_rows import log_softmax
from bertviz_core.errors import TextError
from bertviz_core.experiments.masked_rows import Row, head_logits
from bertviz_core.experiments.random_weights import shuffled_explorer
from bertviz_core.experiments.word_results import NextSentence, ShuffledTest
from bertviz_core.explorer import Explorer
from bertviz_core.tasks import Progress, task, untold
from bertviz_core.trace import TokenizedText

# Class 0 of the head means "is next", class 1 "a random text".
IS_NEXT = 0


@task()
def predict_next_sentence(explorer: Explorer, first: str, second: str) -> NextSentence:
    """P(is next) of two texts, and of the two swapped, in one pass.

    Raises:
        TextError: an empty text, or see `Explorer.tokenize`.

    Source: Devlin et al. 2019 (arXiv:1810.04805), section 3.1, task 2.
    """
    explorer.require_head("nsp")
    both = [
        _read_pair(explorer, one, other)
        for one, other in ((first, second), (second, first))
    ]
    probability, swapped = _probabilities(explorer, both, untold)
    return NextSentence(float(probability), float(swapped))


@task()
def run_shuffled_test(
    explorer: Explorer,
    pairs: Sequence[tuple[str, str]],
    seed: int = 0,
    random_weights: bool = False,
    progress: Progress = untold,
) -> ShuffledTest:
    """Asks about true pairs, and about the same firsts with seconds of others.

    Every second text goes to another first text, at random, and never to one that
    it follows or that is the very same text: of overlapping pairs (A, B), (B, C)
    none becomes (B, B). Pairs that are too long are cut.

    Raises:
        TextError: fewer than two pairs, pairs that have no such shuffle, or an
            empty text.
    """
    explorer.require_head("nsp")
    if len(pairs) < 2:
        raise TextError(
            "A shuffled test needs at least two pairs of texts. Received: "
            "{num_pairs}. Add pairs.",
            num_pairs=len(pairs),
        )
    if random_weights:
        explorer = shuffled_explorer(explorer, seed)
    partners = _shuffle(pairs, seed)
    asked = [
        *pairs,
        *((pairs[i][0], pairs[partner][1]) for i, partner in enumerate(partners)),
    ]
    texts = [_read_pair(explorer, first, second, cut=True) for first, second in asked]
    found = _probabilities(explorer, texts, progress)
    return ShuffledTest(
        num_pairs=len(pairs),
        probabilities=found[: len(pairs)].copy(),
        shuffled=found[len(pairs) :].copy(),
        partners=partners,
        num_cut=sum(text.was_cut for text in texts),
    )


def _read_pair(
    explorer: Explorer, first: str, second: str, cut: bool = False
) -> TokenizedText:
    if not first.strip() or not second.strip():
        raise TextError(
            "Next-sentence prediction needs two texts, and one is empty. Type both."
        )
    return explorer.tokenize(first, second, cut)


def _shuffle(pairs: Sequence[tuple[str, str]], seed: int) -> np.ndarray:
    """Which pair each first text takes its second from, a permutation `[num_pairs]`."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rng = np.random.default_rng(seed)
    # In random order, as nothing else here is random.
    firsts, seconds = (rng.permutation(len(pairs)) for _ in range(2))
    allowed = csr_array(_may_be_shuffled(pairs)[np.ix_(firsts, seconds)])
    found = maximum_bipartite_matching(allowed, perm_type="column")
    if (found < 0).any():
        raise TextError(
            "These pairs cannot be shuffled: some text would follow itself or the "
            "text that it really follows. Received: {num_pairs} pairs. Add "
            "sentences from another text.",
            num_pairs=len(pairs),
        )
    partners = np.empty(len(pairs), np.int64)
    partners[firsts] = seconds[found]
    return partners


def _may_be_shuffled(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Which second text is new to which first text, bool `[firsts, seconds]`."""
    numbers: dict[str, int] = {}
    ids = [[numbers.setdefault(text, len(numbers)) for text in pair] for pair in pairs]
    firsts, seconds = np.array(ids).T
    allowed = firsts[:, None] != seconds
    for first, second in ids:
        allowed[np.ix_(firsts == first, seconds == second)] = False
    return allowed


def _probabilities(
    explorer: Explorer, texts: Sequence[TokenizedText], progress: Progress
) -> np.ndarray:
    """P(is next) of each, float64 `[R]`; texts of one length share batches."""
    order = sorted(range(len(texts)), key=lambda index: texts[index].num_tokens)
    rows = [Row(texts[i].input_ids, texts[i].token_type_ids, 0) for i in order]
    found = np.empty(len(texts))
    for chunk, logits in head_logits(explorer, "nsp", rows, progress, "pairs"):
        found[order[chunk]] = np.exp(log_softmax(logits)[:, IS_NEXT])
    return found
