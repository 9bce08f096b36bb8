"""How a Keras layer comes to be, on the shortest layer of the core: run for real."""

from typing import Any

import numpy as np

from bertviz_core.experiments.read_model_results import Primer, PrimerMoment
from bertviz_core.experiments.step_results import CodePlace
from bertviz_core.tasks import task

INPUT_SIZE, OUTPUT_SIZE = 3, 2
_SEED = 7


@task()
def keras_primer() -> Primer:
    """Makes one `Dense`, builds it and calls it; notes what there is after each."""
    import keras

    from bertviz_core.experiments.quoted_lines import quote_whole
    from bertviz_core.model.layers import Dense
    from bertviz_core.weights import as_numpy

    def moment(method: Any) -> PrimerMoment:
        weights = {weight.name: as_numpy(weight).copy() for weight in layer.weights}
        return PrimerMoment(quote_whole(method), weights)

    start = keras.initializers.TruncatedNormal(stddev=0.02, seed=_SEED)
    layer = Dense(INPUT_SIZE, OUTPUT_SIZE, start)
    moments = [moment(Dense.__init__)]
    layer.build()
    moments.append(moment(Dense.build))
    x = np.array([1.0, -2.0, 0.5], "float32")
    y = np.asarray(keras.ops.convert_to_numpy(layer(x)))
    moments.append(moment(Dense.call))
    return Primer(tuple(moments), x, y)


@task()
def both_orders_of_a_block() -> CodePlace:
    """The method in which a layer does its work, in either order of the norms."""
    from bertviz_core.experiments.quoted_lines import quote_whole
    from bertviz_core.model.encoder import EncoderBlock

    return quote_whole(EncoderBlock.call)
