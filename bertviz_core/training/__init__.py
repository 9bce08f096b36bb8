"""Training: `finetune` on a table, `pretrain` on text, and what both share.

The files here know nothing of either, from settings to checkpoints. `settings`,
`schedule`, `checkpoint` and `run_folder` need NumPy alone; the others load Keras.
"""
