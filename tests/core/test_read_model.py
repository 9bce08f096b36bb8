import inspect
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors.numpy import load_file

from bertviz_core.checkpoints.names import HUGGINGFACE, weights_of
from bertviz_core.config import BertConfig
from bertviz_core.experiments.primer import both_orders_of_a_block, keras_primer
from bertviz_core.experiments.step_table import OPERATIONS, describe
from bertviz_core.experiments.weight_pictures import weight_picture, weight_values
from bertviz_core.figures.formula_sheet import (
    as_mathml,
    formula_sheet,
    shape_of,
    sheet_chapters,
)
from bertviz_core.model.encoder import EncoderBlock
from bertviz_core.model.layers import Dense
from tests.core.bundled import open_bundled
from tests.make_golden import SENTENCES

MATHML = "{http://www.w3.org/1998/Math/MathML}math"
HEADS = ("pooler", "mlm", "nsp", "classifier")


@pytest.fixture(scope="module", params=SENTENCES)
def bundled(request):
    return open_bundled(request.param)


def test_a_layer_gets_its_weights_when_it_is_built():
    primer = keras_primer()
    after_init, after_build, after_call = primer.moments
    assert after_init.weights == {}
    assert list(after_build.weights) == ["kernel", "bias"]
    kernel, bias = after_build.weights.values()
    assert (kernel.shape, bias.shape) == ((3, 2), (2,))
    assert kernel.all()
    assert not bias.any()
    np.testing.assert_array_equal(after_call.weights["kernel"], kernel)
    np.testing.assert_allclose(primer.y, primer.x @ kernel + bias, rtol=1e-6)
    methods = Dense.__init__, Dense.build, Dense.call
    for moment, method in zip(primer.moments, methods, strict=True):
        lines, first = inspect.getsourcelines(method)
        assert moment.place.line == first
        assert moment.place.code.split() == "".join(lines).split()
    assert both_orders_of_a_block().line == inspect.getsourcelines(EncoderBlock.call)[1]


def test_every_weight_is_the_one_in_the_file(bundled):
    folder = f"assets/models/{bundled.model_id}/model.safetensors"
    stored = load_file(folder)
    heads = bundled.loaded.model.heads
    names = list(weights_of(bundled.config, heads, HUGGINGFACE))
    assert len(names) == len(bundled.loaded.model.weights) == len(stored)
    for weight in names:
        expected = stored[weight.stored].astype("float32")
        expected = expected.T if weight.transposed else expected
        np.testing.assert_array_equal(weight_values(bundled, weight.ours), expected)
    found = weight_picture(bundled, weight.ours)
    assert found.counts.sum() == expected.size
    wide = expected.astype("float64")
    assert found.mean == pytest.approx(wide.mean(), abs=1e-12)
    assert found.spread == pytest.approx(wide.std())
    assert (found.low, found.high) == (wide.min(), wide.max())
    inside = (wide >= found.edges[10]) & (wide < found.edges[11])
    assert found.counts[10] == inside.sum()
    with pytest.raises(ValueError, match="weight"):
        weight_values(bundled, "bert/nothing")


@pytest.mark.parametrize("pre_norm", [False, True])
def test_the_sheet_has_every_formula_of_the_pass_and_asks_nobody(pre_norm):
    config = BertConfig(100, 12, 2, 3, 20, pre_norm=pre_norm)
    html = formula_sheet(config, HEADS, "zh", lambda name: f"<{name}>", "A & B")
    assert "http" not in html.replace("http://www.w3.org/1998/Math/MathML", "").replace(
        "http-equiv", ""
    )
    body = html[html.index("<body>") : html.index("</html>")]
    tree = ElementTree.fromstring(body)
    shown = [
        (row[0].text, ElementTree.tostring(row[1][0]), row[2].text)
        for row in tree.iter("tr")
    ]
    chapters = sheet_chapters(pre_norm, HEADS)
    operations = [name for chapter in chapters for name in chapter.operations]
    missing = set() if pre_norm else {"final_norm"}
    assert set(operations) == set(OPERATIONS) - missing
    assert len(operations) == len(set(operations)) == len(list(tree.iter(MATHML)))
    for (name, formula, shape), operation in zip(shown, operations, strict=True):
        found = describe(operation, pre_norm, config.hidden_act)
        assert name == f"<{operation}>"
        written = ElementTree.fromstring(as_mathml(found.formula))
        assert formula == ElementTree.tostring(written)
        assert shape == shape_of(found.axes, config)


def test_the_sheet_leaves_out_what_a_model_has_not():
    (*_, last) = sheet_chapters(False, ("mlm",))
    assert {chapter.name for chapter in sheet_chapters(False, ("mlm",))} == {
        *("embeddings", "layer", "words")
    }
    assert last.operations[-1] == "mlm_probs"
