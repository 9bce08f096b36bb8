"""What runs the network again: scores, fillings, chains, lenses, ablations."""
