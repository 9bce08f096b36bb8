"""What the page on which the model is read like a book is made of."""
