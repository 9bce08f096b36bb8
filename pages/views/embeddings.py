"""Embeddings: words, places and sentences as vectors, measured and drawn."""

from pages.ui.embeddings.panels import explore
from pages.ui.models import model_picker

explore(model_picker())
