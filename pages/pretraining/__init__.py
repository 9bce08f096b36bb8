"""Parts of the page on which a tiny BERT learns."""
