"""BERT in Keras, written to be read. Only `keras.ops`: any Keras backend runs it."""
