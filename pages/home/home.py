"""Home: what can be explored, with one sentence predicted right here."""

import streamlit as st

from bertviz_core.analysis.sampling import rank_order, softmax
from bertviz_core.engine.model_tasks import vocabulary
from bertviz_core.explorer import Explorer
from bertviz_core.mask_text import normalise_masks
from pages.masked_word.state import OPEN_TEXT
from pages.shared.answers import ask
from pages.shared.choices import type_linked
from pages.shared.errors import shown_to_user
from pages.shared.language import t
from pages.shared.models import (
    default_model,
    language_of,
    model_picker,
    say_if_unread,
)
from pages.shared.navigation import FIRST, ICONS

NUM_GUESSES = 5
MAX_MASKS = 3
LEAST_BAR = 0.01  # Streamlit draws nothing below a hundredth
CARDS_IN_ROW = 2
EXAMPLES = {
    "en": ["home.example_en_1", "home.example_en_2", "home.example_en_3"],
    "zh": ["home.example_zh_1", "home.example_zh_2", "home.example_zh_3"],
}


def next_example(key: str, sentences: list[str]) -> None:
    """Puts the example after the current one into the text box."""
    current = st.session_state[key]
    place = sentences.index(current) + 1 if current in sentences else 0
    st.session_state[key] = sentences[place % len(sentences)]


model = model_picker()

st.header(t("home.try_it"), anchor=False)
language = language_of(model)
key = f"home_text_{language}"
sentences = [t(example) for example in EXAMPLES[language]]
sentence = type_linked(
    st.text_input,
    t("home.sentence"),
    sentences[0],
    key=key,
    is_main=True,
    max_chars=300,
)
st.button(
    t("home.next_example"),
    icon=":material/autorenew:",
    on_click=next_example,
    args=(key, sentences),
)

info = ask(Explorer.info)(model)
if "mlm" not in info.heads:
    st.info(t("home.no_head", model=model, default=default_model()))
else:
    with shown_to_user(stop=False):
        text, _ = normalise_masks(sentence)
        predictions = ask(Explorer.predict_masks)(model, text)
        say_if_unread(model, predictions.tokenized)
        words, num_masks = ask(vocabulary)(model), len(predictions.logits)
        columns = st.columns(min(max(num_masks, 2), MAX_MASKS))
        for column, logits in zip(columns, predictions.logits, strict=False):
            probs = softmax(logits)
            for token_id in rank_order(logits)[:NUM_GUESSES]:
                share = float(probs[token_id])
                said = t("home.guess", word=words[token_id], share=share)
                column.progress(max(share, LEAST_BAR), said)
        if num_masks > MAX_MASKS:
            st.caption(t("home.first_gaps", shown=MAX_MASKS, count=num_masks))
        count = info.config.vocab_size
        st.caption(t("home.how_to_read_guesses", count=count))
        st.page_link(
            "pages/masked_word/masked_word.py",
            label=t("home.go_on"),
            icon=":material/arrow_forward:",
            query_params={**st.query_params, OPEN_TEXT: text},
        )

st.header(t("home.what_happens"), anchor=False)
st.markdown(t("home.what_happens_text"))

st.header(t("home.explore"), anchor=False)
others = [name for name in ICONS if name != FIRST]
for row in range(0, len(others), CARDS_IN_ROW):
    boxes = st.columns(CARDS_IN_ROW)
    for box, name in zip(boxes, others[row : row + CARDS_IN_ROW], strict=False):
        with box.container(border=True, height="stretch"):
            script = f"pages/{name}/{name}.py"
            icon = f":material/{ICONS[name]}:"
            st.page_link(script, label=t(f"app.page_{name}"), icon=icon)
            st.markdown(t(f"home.card_{name}"))
