"""Embeddings: words, places and sentences as vectors, measured and drawn."""

from pages.ui.embeddings.panels import explore
from pages.ui.errors import shown_to_user
from pages.ui.models import model_picker

model = model_picker()
with shown_to_user():
    explore(model)
