"""The bundled model that opens where nothing else is chosen."""

DEFAULT_MODEL = "bert-mini-en"
