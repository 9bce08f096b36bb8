"""Reading and writing checkpoints: Google's, Hugging Face's, and what is at hand.

Importing this package loads nothing heavy. Pickle files are never opened.

What most functions take is said here, once. `folder` holds the files of one checkpoint;
its `name` stands in messages. On the hub, a `revision` is a commit, branch or tag, ""
for the newest. An `owner` is who uploaded, and whose share of the room it takes.
`progress` is told the step and the fraction done, and may raise to cancel; `notes` are
sentences for the report.

What reads a checkpoint raises `ConfigError` where its config is absent, broken or not
BERT's, or a text file is far too large; `TokenizerError` where its vocabulary is absent
or broken; and `CheckpointError` where its weights are absent, damaged, not finite, of
another format, too many or too large, or do not fit the others.
"""
