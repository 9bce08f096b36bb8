"""Pre-training BERT from plain text: the two tasks of the paper, from raw files.

A run reads from top to bottom like this:

`settings`    what to do, from one JSON file;
`corpus`      text to memory-mapped token ids;
`sequences`, `masking`, `batches`, `schedule`   token ids to the batch of any step;
`objective`, `trainer`   the two losses and how they are lowered;
`initial`, `run`   step after step, with checkpoints and a curve;
`evaluate`    what the model is worth on text that it never saw.

Importing this package loads nothing heavy; everything before `objective` needs NumPy
alone.

Shapes: B rows, T tokens, P places to guess in a row, S sequences, or room for them in a
row, W windows, L layers, H hidden size, V vocabulary; Q and K tokens.

What most functions take is said here, once. `paths` are text files, `folder` holds an
encoded corpus and `cache` many, `documents` are indices of some; `max_tokens` are those
of a row, sequence or window, special ones counted; `rng` decides all that is random;
`forward` is of a model with the head that is asked; `words` are those of the model to
begin with, `None` where a run learns its own.
"""

from pathlib import Path

# Settings that come with the project, by name. Here, as `commands` offers them, and
# loads nothing else.
BUNDLED = {path.stem: path for path in Path(__file__).parent.glob("configs/*.json")}
