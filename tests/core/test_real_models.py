"""The models that people name first, from the hub: a network is needed.

Run `python -m pytest -m network`; elsewhere these are skipped. Expected: what the model
card of bert-base-uncased prints, and a word that no reader of Chinese would doubt.
"""

import socket

import pytest

from bertviz_core.analysis.sampling import rank_order, softmax
from bertviz_core.explorer import Explorer

HUB = ("huggingface.co", 443)
# The card of bert-base-uncased: "Hello I'm a [MASK] model."
CARD = {
    "fashion": 0.1073106,
    "role": 0.0877445,
    "new": 0.0533839,
    "super": 0.0466722,
    "fine": 0.0270959,
}


@pytest.fixture(autouse=True)
def _network():
    try:
        socket.create_connection(HUB, timeout=5).close()
    except OSError:
        pytest.skip("no way to the hub")


def likeliest(name, text, count):
    """The best words for the first mask, with their probabilities."""
    explorer = Explorer.open(name)
    logits = explorer.predict_masks(text).logits[0]
    probs = softmax(logits)
    best = rank_order(logits)[:count]
    return {explorer.vocabulary[i]: float(probs[i]) for i in best}


@pytest.mark.network
@pytest.mark.timeout(900)
def test_bert_base_uncased_guesses_what_its_card_says():
    found = likeliest("bert-base-uncased", "Hello I'm a [MASK] model.", len(CARD))
    assert list(found) == list(CARD)
    assert found == pytest.approx(CARD, abs=1e-4)


@pytest.mark.network
@pytest.mark.timeout(900)
def test_bert_base_chinese_knows_the_capital():
    found = likeliest("bert-base-chinese", "北京是中国的首[MASK]。", 1)
    assert list(found) == ["都"]
