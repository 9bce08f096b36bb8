"""Reading and writing checkpoints: Google's, Hugging Face's, and what is at hand.

Importing this package loads nothing heavy. Pickle files are never opened.
"""
