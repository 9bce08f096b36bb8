"""The activations page, a part a file."""
