"""The part of `Engine` that fine-tunes: tables and runs."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from bertviz_core.engine.training_desk import TrainingDesk
from bertviz_core.errors import DatasetError, TrainingError
from bertviz_core.finetune import run_files, workplace
from bertviz_core.finetune.refused_tables import keep_briefly
from bertviz_core.finetune.request import TrainingRequest
from bertviz_core.finetune.training_status import TrainingStatus


class FinetuneEngine:
    """Methods of `Engine`; see there for what all of them raise."""

    trainings: TrainingDesk

    def keep_table(self, file: BinaryIO | bytes) -> str:
        """Stores a visitor's file, unread, in a private folder.

        It is removed when nobody has asked for it for the time of a lease, an hour
        unless `BERTVIZ_LEASE_MINUTES` says otherwise.

        Args:
            file: its bytes, or an open file, which is read in pieces.

        Returns:
            The handle for `TableSource.table`.

        Raises:
            DatasetError: larger than the limit, no text at all, or no room on the
                disk.
        """
        table = workplace.keep_table(file)
        self.trainings.keep(table)
        return table

    def forget_table(self, table: str) -> None:
        """Removes a visitor's file; one that is gone, or a sample, stays as it is.

        Args:
            table: what `keep_table` returned.
        """
        self.trainings.forget(table)

    def keep_table_briefly(self, table: str) -> None:
        """Keeps a visitor's file that was refused for minutes alone.

        Whoever reads it, in another encoding say, keeps it for a whole lease again.

        Args:
            table: what `keep_table` returned; nothing happens to a sample.
        """
        keep_briefly(table)

    def renew_table(self, table: str) -> bool:
        """Keeps a visitor's file for another lease.

        Args:
            table: what `keep_table` returned; a sample is always kept.

        Returns:
            Whether it is still there.
        """
        try:
            workplace.table_path(table)
        except DatasetError:
            return False
        return True

    def table_path(self, table: str) -> Path:
        """Where a visitor's file lies, for another page that reads it.

        Args:
            table: what `keep_table` returned, or a sample.

        Raises:
            DatasetError: it is gone.
        """
        return workplace.table_path(table)

    def start_training(self, request: TrainingRequest) -> str:
        """Takes a training into the queue; it runs on while nobody looks.

        It is stopped with its best so far when nobody has asked for it for the time
        of a lease, and removed when nobody has for another.

        Args:
            request: what to train, on what and how. The run keeps its own copies
                of the tables.

        Returns:
            The run's id: 32 hexadecimal digits that nobody can guess.

        Raises:
            DatasetError: a table is gone.
            EngineError: too many trainings wait already.
        """
        return self.trainings.start(request)

    def training(self, run_id: str) -> TrainingStatus:
        """Where a training stands, and all that it has told; asks no worker.

        Args:
            run_id: what `start_training` returned. Asking renews its lease.

        Raises:
            TrainingError: no such training, or it was removed.
        """
        return self.trainings.status(run_id)

    def stop_training(self, run_id: str) -> None:
        """Ends a training soon, with the best so far; returns at once.

        One that waits, or has not made a step, ends without a model; one that has
        ended stays as it is.

        Args:
            run_id: what `start_training` returned.

        Raises:
            TrainingError: no such training, or it was removed.
        """
        self.trainings.stop(run_id)

    def resume_training(self, run_id: str) -> None:
        """Lets a training that failed or was interrupted go on after its last epoch.

        Args:
            run_id: what `start_training` returned.

        Raises:
            TrainingError: no such training, or it has not broken off.
            EngineError: too many trainings wait already.
        """
        self.trainings.resume(run_id)

    def renew_training(self, run_id: str) -> bool:
        """Keeps a training and its model for another lease.

        Args:
            run_id: what `start_training` returned.

        Returns:
            Whether it is still there.
        """
        return self.trainings.renew(run_id)

    def forget_training(self, run_id: str) -> None:
        """Removes a training with its model and texts; stops it if it runs.

        Args:
            run_id: what `start_training` returned; nothing happens where it is gone.
        """
        self.trainings.remove(run_id)

    def training_bundle(self, run_id: str) -> str:
        """Path of the zip file to take away; `add_upload` takes it back.

        Args:
            run_id: of a run that has left a model.

        Raises:
            TrainingError: no such training, or it has no model.
        """
        return self._file(run_id, run_files.BUNDLE)

    def training_log(self, run_id: str) -> str:
        """Path of a zip file with the log for TensorBoard.

        Args:
            run_id: of a run that was asked for one and has ended, however it did.

        Raises:
            TrainingError: no such training, it has no such log, or no room on the
                disk.
        """
        try:
            run_files.pack_log_of(workplace.run_folder(run_id))
        except OSError as error:
            raise TrainingError(
                "The log for TensorBoard cannot be packed on the disk of the server. "
                "Received: {reason}. Make room there, then open this page again.",
                reason=error.strerror or type(error).__name__,
            ) from error
        return self._file(run_id, run_files.LOG_BUNDLE)

    def _file(self, run_id: str, name: str) -> str:
        folder = workplace.run_folder(run_id)
        workplace.renew(folder)
        if not (folder / name).is_file():
            raise TrainingError(
                "This training has left no such file. Received: {name}. Wait for its "
                "end, or stop it.",
                name=name,
            )
        return str(folder / name)
