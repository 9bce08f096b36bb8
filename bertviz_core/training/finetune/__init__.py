"""Fine-tuning on a table of examples: data, checks, training, evaluation."""
