"""Parts of the page that fine-tunes a model on a table of texts."""
