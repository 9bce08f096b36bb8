"""What fine-tuning and pre-training share, from settings to checkpoints.

Knows nothing of either. `settings`, `schedule`, `checkpoint` and `run_folder` need
NumPy alone; the others load Keras.
"""
