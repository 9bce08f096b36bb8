"""The bundled model that opens where nothing else is chosen."""

DEFAULT_MODEL = "starter-en"
