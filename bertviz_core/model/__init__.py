"""The network, in `keras.ops` only. Importing it loads Keras."""

from bertviz_core.quiet import import_keras

import_keras()
