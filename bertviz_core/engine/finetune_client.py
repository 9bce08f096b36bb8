"""The part of `Client` that reads tables for fine-tuning."""

from __future__ import annotations

from typing import BinaryIO, cast

from bertviz_core.engine.engine import Engine
from bertviz_core.finetune import workplace
from bertviz_core.finetune.data_check import DataCheck, DataRow
from bertviz_core.finetune.request import DataChoice, TableSource
from bertviz_core.finetune.table_view import TableView


class FinetuneClient:
    """Methods of `Client`; see there for what all of them raise."""

    _engine: Engine

    def keep_table(self, file: BinaryIO | bytes) -> str:
        """Stores a visitor's file, unread, in a private folder.

        It is removed when nobody has asked for it for an hour.

        Args:
            file: its bytes, or an open file, which is read in pieces.

        Returns:
            The handle for `TableSource.table`.

        Raises:
            DatasetError: larger than the limit, or no room on the disk.
        """
        return workplace.keep_table(file)

    def forget_table(self, table: str) -> None:
        """Removes a visitor's file; one that is gone, or a sample, stays as it is.

        Args:
            table: what `keep_table` returned.
        """
        workplace.forget_table(table)

    def read_table(self, source: TableSource) -> TableView:
        """Reads a table and describes it.

        Args:
            source: the table, and its layout where no guess is wanted.

        Raises:
            DatasetError: it is gone, or no table; the sentence says where.
        """
        return cast(TableView, self._engine.call("read_table", source=source))

    def check_data(self, model: str, data: DataChoice) -> DataCheck:
        """Runs all checks of the rows that were chosen.

        Args:
            model: id of the model that would be trained; its vocabulary counts
                the tokens.
            data: the rows.

        Raises:
            DatasetError: these columns cannot be trained on; the sentence says
                why and where.
        """
        answer = self._engine.call("check_data", model=model, data=data)
        return cast(DataCheck, answer)

    def data_rows(self, data: DataChoice, rows: tuple[int, ...]) -> tuple[DataRow, ...]:
        """Shows rows of the table, such as those of a finding.

        Args:
            data: the rows.
            rows: row numbers of the file; one that was left out is passed over.
        """
        answer = self._engine.call("data_rows", data=data, rows=rows)
        return cast("tuple[DataRow, ...]", answer)
