"""Arithmetic on arrays that came out of the model. NumPy only."""
