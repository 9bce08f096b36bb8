"""Embeddings: words, places and sentences as vectors, measured and drawn."""

from pages.embeddings.panels import explore
from pages.shared.models import model_picker

explore(model_picker())
