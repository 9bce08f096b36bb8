"""The parts of the embeddings page."""
