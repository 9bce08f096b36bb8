"""Tasks that read and check tables for fine-tuning.

A table is parsed from a file in its visit's folder, and kept in a small store of
this process; what a page gets of it is always small.
"""

from __future__ import annotations

import numpy as np

from bertviz_core.engine import table_store
from bertviz_core.engine.memory import explorer
from bertviz_core.finetune.data_check import DataCheck, DataRow
from bertviz_core.finetune.request import DataChoice, TableSource
from bertviz_core.finetune.table_view import TableView


def read_table(source: TableSource) -> TableView:
    """Reads a table and describes it."""
    from bertviz_core.finetune.table_view import view_table

    return view_table(table_store.table(source))


def check_data(model: str, data: DataChoice) -> DataCheck:
    """Runs all checks of the rows that were chosen."""
    from bertviz_core.finetune import data_check
    from bertviz_core.finetune.lengths import measure_lengths

    prepared = table_store.prepared(data)
    opened = explorer(model)
    return data_check.check_data(
        prepared.dataset,
        prepared.data,
        measure_lengths(prepared.dataset, opened.tokenizer),
        opened.config.max_position_embeddings,
        prepared.notes,
        prepared.leakage,
    )


def data_rows(data: DataChoice, rows: tuple[int, ...]) -> tuple[DataRow, ...]:
    """Shows rows of the table by their numbers."""
    from bertviz_core.finetune.data_check import rows_of

    dataset = table_store.prepared(data).dataset
    places = {int(row): index for index, row in enumerate(dataset.row_numbers)}
    indices = [places[row] for row in rows if row in places]
    chosen = dataset.examples(np.array(indices, "int64"))
    return rows_of(chosen, dataset.label_names, tuple(range(len(indices))))


TASKS = (read_table, check_data, data_rows)
