"""What the Attention page is made of."""
