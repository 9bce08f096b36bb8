"""Fine-tuning on a table of texts.

What most functions take is said here, once. `loaded` is the model to begin with, which
stays as it is, `data` the rows, `settings` those of the run, `result` what it left;
`table` comes from `read_table`, `examples` and `dataset` hold R rows, of C classes;
`labels` and `row_numbers` are those of R cells. `tell` and `progress` are told the
share done and may raise to cancel. An `explorer` is of a model with a classifier; else
`CheckpointError` is raised.
"""
