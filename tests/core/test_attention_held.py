import numpy as np
import pytest

from bertviz_core.figures.attention_held import MOST_EXACT_BYTES, hold_heads
from bertviz_core.figures.attention_payload import view_payload
from tests.core.test_attention_view import NASTY, random_probs, view_of
from tests.payloads import unpacked


def test_heads_of_a_short_text_are_held_exactly():
    probs = random_probs(12, 12, 22)
    held = hold_heads(probs)
    np.testing.assert_array_equal(held.exact, probs)
    assert held.exact.nbytes <= MOST_EXACT_BYTES
    assert held.targets is None


def test_where_thumbnails_have_every_cell_nothing_else_is_held():
    held = hold_heads(random_probs(12, 12, 32))
    assert (held.exact, held.targets, held.rests) == (None, None, None)


@pytest.mark.parametrize("num_tokens", [40, 128, 300])
def test_a_sketch_has_the_strongest_cells_and_the_mean_of_the_others(num_tokens):
    probs = random_probs(2, 24, num_tokens)
    held = hold_heads(probs)
    num_cells = held.targets.shape[-1]
    assert held.targets.dtype == (np.uint8 if num_tokens <= 256 else np.uint16)
    strongest = np.sort(probs, axis=-1)[..., -num_cells:]
    levels = np.sort(held.levels, axis=-1)
    np.testing.assert_array_equal(levels, np.rint(255 * np.sqrt(strongest)))
    at = np.take_along_axis(probs, held.targets.astype(int), axis=-1)
    np.testing.assert_array_equal(np.sort(at, axis=-1), strongest)
    rest = (1 - strongest.sum(-1)) / (num_tokens - num_cells)
    # Half a step of 255, of the root.
    np.testing.assert_allclose(held.rests / 255, np.sqrt(rest), atol=0.5 / 255 + 1e-4)


def test_other_numbers_have_another_key():
    probs = random_probs(2, 3, 5)
    key = hold_heads(probs).key
    assert hold_heads(probs.copy()).key == key
    changed = probs.copy()
    changed[1, 2, 4, 4] += 1e-6
    assert hold_heads(changed).key != key


def test_the_payload_brings_what_is_held():
    probs = random_probs(2, 3, 5)
    held = hold_heads(probs)
    header, arrays = unpacked(view_payload(view_of(NASTY, probs, held=held)))
    assert header["held"] == held.key
    np.testing.assert_array_equal(arrays["everyHead"].reshape(probs.shape), probs)
    header, arrays = unpacked(view_payload(view_of(NASTY, probs), holds="another"))
    assert header["held"] is None
    assert "everyHead" not in arrays


def test_what_the_browser_holds_is_not_sent_again():
    probs = random_probs(12, 12, 128)
    held = hold_heads(probs)
    view = view_of(tuple(f"token{i}" for i in range(128)), probs, held=held)
    header, arrays = unpacked(view_payload(view, holds=held.key))
    assert header["held"] == held.key
    assert set(arrays) == {"matrix", "linkTargets", "linkWeights", "linkSums"}
    assert len(view_payload(view, holds=held.key)) < 180_000
    _, arrays = unpacked(view_payload(view, holds="of another text"))
    assert {"thumbnails", "heldTargets", "heldLevels", "heldRests"} < set(arrays)
