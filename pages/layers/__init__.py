"""What the Layers page is made of."""
