"""Pre-training BERT from plain text: the two tasks of the paper, from raw files.

A run reads from top to bottom like this:

`settings` what to do, from one JSON file;
`text_files`, `vocabulary`, `corpus` text to memory-mapped token ids;
`chunks`, `packing`, `masking`, `batches` token ids to the batch of any step;
`objective`, `optimizer`, `schedule` the two losses and how they are lowered;
`trainer`, `run` step after step, with checkpoints (`checkpoint`) and a curve (`curve`);
`evaluate`, `cloze` what the model is worth on text that it never saw;
`tiny` the same in half a minute, on a page, for those who want to watch.

Importing this package loads nothing heavy; everything before `objective` needs
NumPy alone.
"""
