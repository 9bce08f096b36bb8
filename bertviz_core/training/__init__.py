"""What trainers share: a network made fast, its precision, its state.

Importing it loads Keras, on TensorFlow unless the environment says otherwise.
"""

from bertviz_core.quiet import import_keras

import_keras("tensorflow")
