"""Embeddings: words, places and sentences as vectors, measured and drawn."""

from pages.ui.embeddings.panels import explore
from pages.ui.errors import shown_to_user
from pages.ui.head import page_head
from pages.ui.language import t
from pages.ui.models import model_picker
from pages.ui.terms import explain_terms

page_head(
    t("embeddings.title"),
    see=t("embeddings.what_you_see"),
    look_for=t("embeddings.what_to_look_for"),
    not_proved=t("embeddings.what_it_does_not_prove"),
)
explain_terms("embeddings.terms")
model = model_picker()
with shown_to_user():
    explore(model)
