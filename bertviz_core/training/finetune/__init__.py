"""Fine-tuning on a table of texts.

What most functions take is said here, once. `loaded` is the model to begin with, which
stays as it is, `data` the rows, `settings` those of the run, `result` what it left,
`title` what its owner calls the model, "" for the name of the one that it began with;
`table` comes from `read_table`, `examples` and `dataset` hold R rows, of C classes;
`labels` and `row_numbers` are those of R cells; `counts` are int `[C]`, rows of each
class. `text` stands for the first of two where there is a `pair`; longer ones are cut
to `max_tokens`, special tokens counted, which is 0 for the length that the model
learned with, or, where that is not known, for its positions. `validation_rate` is the
share of all rows that choose the epoch, `test_rate` of those that the report is of,
both in (0, 1). `tell` and `progress` are told the share done and may raise to cancel.
An `explorer` is of a model with a classifier; else `CheckpointError` is raised.
"""
