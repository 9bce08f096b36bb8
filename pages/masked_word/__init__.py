"""The parts of the masked-word page, from top to bottom."""
