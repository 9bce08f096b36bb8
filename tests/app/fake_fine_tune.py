"""A client that reads real tables and trains nothing."""

import dataclasses
from types import SimpleNamespace

from bertviz_core import visitor_files
from bertviz_core.engine import JobStatus, finetune_tasks, table_store
from bertviz_core.errors import TrainingError
from bertviz_core.trace import ModelEntry
from bertviz_core.training.finetune import checks, run_files
from bertviz_core.training.finetune.columns import view_table
from bertviz_core.training.finetune.estimate import LevelEstimate, TrainingEstimate
from bertviz_core.training.finetune.notes import note
from bertviz_core.training.finetune.request import RESUMABLE, TrainingStatus
from bertviz_core.training.finetune.visitor_tables import rows_to_mend
from tests.app.fake_client import CONFIG, UNK, FakeClient, FakeTrainings

RUN = "0123456789abcdef" * 2
MODEL = ModelEntry(f"run:{RUN}", "letters", "upload", "en", 1_000_000)
ESTIMATE = TrainingEstimate(
    levels=(
        LevelEstimate("head", 10**8, 20.0, 13.7, 630, fits=True),
        LevelEstimate("top", 2 * 10**8, 50.0, num_steps=84, fits=True),
        LevelEstimate("full", 3 * 10**8, 7000.0, num_steps=63),
    ),
    recommended="top",
    free_bytes=25 * 10**7,
    is_loaded=False,
)


class Words:
    """A tokenizer whose pieces are the words; those with a "q" are unknown."""

    unk_token_id = UNK

    def encode_many(self, texts):
        return [[UNK if "q" in word else 9 for word in t.split()] for t in texts]


class FineTuneClient(FakeClient):
    """Checks tables as the engine does, and shows what a test puts into `statuses`."""

    def __init__(self):
        super().__init__()
        self.statuses = {}
        self.requests = []
        self.log = None  # a path
        self.trainings = FakeTrainings(self)

    def view_table(self, source):
        self._asked("view_table", source)
        return view_table(table_store.table(source))

    def check_data(self, model, data):
        self._asked("check_data", model, data)
        config = SimpleNamespace(**CONFIG)
        explorer = SimpleNamespace(config=config, tokenizer=Words())
        return checks.check_data(explorer, table_store.prepared(data))

    def rows_to_mend(self, source, columns, wanted):
        self._asked("rows_to_mend", wanted)
        return rows_to_mend(table_store.table(source), columns, wanted)

    def mend_table(self, source, column, changes, owner):
        self._asked("mend_table", changes)
        return finetune_tasks.mend_table(source, column, changes, owner)

    def start(self, question, owner):
        assert owner
        self._asked("start", question.name, *question.args)
        self.jobs["job-1"] = JobStatus("job-1", "done", 1.0, result=ESTIMATE)
        return "job-1"

    def start_training(self, request):
        self._asked("start_training", request)
        self.requests.append(request)
        folder = visitor_files.place_of(visitor_files.RUNS) / RUN
        visitor_files.remove(folder)
        folder.mkdir()
        own = run_files.lend_tables(request, folder)
        self.statuses[RUN] = TrainingStatus(
            run_id=RUN, state="waiting", request=own, place=3
        )
        return RUN

    def training(self, run_id):
        self._asked("training", run_id)
        if run_id not in self.statuses:
            raise TrainingError(
                "This training is no longer here: a training and its model are "
                "removed when nobody has looked at them for a while. Start it again."
            )
        return self.statuses[run_id]

    def training_log(self, run_id):
        self._asked("training_log", run_id)
        return str(self.log)

    def resume_training(self, run_id):
        self._asked("resume_training", run_id)
        self.statuses[run_id] = dataclasses.replace(
            self.statuses[run_id], state="running", error=None
        )


def status_of(request, state, **fields):
    """A run that has done two of four epochs."""
    known = {
        "phase": "train" if state == "running" else "",
        "fraction": 0.5,
        "step": 14,
        "num_steps": 28,
        "epoch": 2,
        "num_epochs": 4,
        "seconds": 61.0,
        "seconds_left": 42.0,
        "points": [[i, 1.5 - (i - 1) / 13, 2.5e-5] for i in range(1, 15)],
        "epochs": [[7.0, 1.25, 1.125, 0.625], [14.0, 0.75, 0.875, 0.5]],
        "metric_name": "accuracy",
        "best_epoch": 1,
        "can_go_on": state in RESUMABLE and fields.get("is_own", True),
        "log": [
            [
                61.0,
                *note(
                    "The training begins: {train} training rows, {validation} "
                    "validation rows, {test} test rows.",
                    train=284,
                    validation=40,
                    test=82,
                ),
            ]
        ],
    }
    return TrainingStatus(run_id=RUN, state=state, request=request, **known | fields)
