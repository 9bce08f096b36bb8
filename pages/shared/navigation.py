"""The pages, in the order of the links, each with its icon."""

FIRST = "home"
ICONS = {
    FIRST: "home",
    "masked_word": "edit_note",
    "attention": "hub",
    "embeddings": "scatter_plot",
    "layers": "layers",
    "activations": "show_chart",
    "pretraining": "school",
    "fine_tune": "model_training",
    "models": "deployed_code",
}
