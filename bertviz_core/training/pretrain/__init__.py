"""Pre-training BERT from plain text: the two tasks of the paper, from raw files.

A run reads from top to bottom like this:

`settings` what to do, from one JSON file;
`corpus` text to memory-mapped token ids;
`sequences`, `masking`, `batches`, `schedule` token ids to the batch of any step;
`objective`, `trainer` the two losses and how they are lowered;
`initial`, `run` step after step, with checkpoints and a curve;
`evaluate` what the model is worth on text that it never saw.

Importing this package loads nothing heavy; everything before `objective` needs
NumPy alone.
"""

from pathlib import Path

# Settings that come with the project, by name. Here, as `commands` offers them, and
# loads nothing else.
BUNDLED = {path.stem: path for path in Path(__file__).parent.glob("configs/*.json")}
