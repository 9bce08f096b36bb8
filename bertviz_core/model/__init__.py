"""The network, in `keras.ops` only. Importing it loads Keras."""

from bertviz_core.quiet import import_keras

import_keras()

import keras  # noqa: E402

# Here, where one thread comes by: two that make the first constants of OpenVINO 2026.4
# at a time wait for each other without end, as did a page that was opened with another
# model while the server warmed up with its own.
if keras.backend.backend() == "openvino":
    keras.ops.convert_to_tensor(0)
