"""A client with one training that has ended, made up from numbers that tests know."""

import dataclasses
import json
import zipfile

import numpy as np

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.engine import JobStatus
from bertviz_core.errors import TrainingError
from bertviz_core.experiments.after_training import (
    LayerComparison,
    NearTrainingRows,
    WeightChange,
)
from bertviz_core.experiments.layer_results import Attribution
from bertviz_core.numbers import number_text
from bertviz_core.trace import ModelEntry, TrainedInputs
from bertviz_core.training.finetune.baselines import Baseline
from bertviz_core.training.finetune.checks import DataRow
from bertviz_core.training.finetune.columns import ColumnChoice, view_table
from bertviz_core.training.finetune.evaluation import (
    compare,
    evaluate_classes,
    evaluate_numbers,
)
from bertviz_core.training.finetune.request import (
    SAMPLES,
    DataChoice,
    RunOutcome,
    TableSource,
    TrainingRequest,
    TrainingStatus,
)
from bertviz_core.training.finetune.row_prediction import (
    PredictedRow,
    ReadText,
    TablePredictions,
)
from bertviz_core.training.finetune.settings import FinetuneSettings
from bertviz_core.training.finetune.table import read_table
from tests.app.fake_client import CONFIG, FakeClient, FakeTrainings

RUN = "ab" * 16
MODEL = f"run:{RUN}"
LABELS = ("ham", "*spam*", "红")
TARGETS = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], "int32")
#                     wrong      wrong, surest
SAID = np.array([0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2], "int32")
SURE = np.array([0.9, 0.6, 0.7, 0.8, 0.5, 0.9, 0.95, 0.6, 0.7, 0.8, 0.9])
NUMBERS = np.array([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110], "float32")
OFF = np.array([1, -2, 3, -4, 5, -60, 7, -8, 9, -1, 2], "float32")
TEXTS = tuple(f"text number {index} of <b>some</b>" for index in range(11))


def class_report(said=SAID, sure=SURE):
    probabilities = np.empty((len(TARGETS), len(LABELS)))
    probabilities[:] = (1 - sure)[:, None] / 2
    probabilities[np.arange(len(TARGETS)), said] = sure
    return evaluate_classes(LABELS, TARGETS, probabilities, np.arange(2, 13))


def number_report():
    return evaluate_numbers("price", NUMBERS, NUMBERS + OFF, np.arange(2, 13))


class RunClient(FakeClient):
    """Answers about one run; `is_regression` and `has_pairs` make another of it."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.is_regression = self.has_pairs = False
        self.entries.append(ModelEntry(MODEL, "my books", "trained"))
        self.report = None
        self.chosen = {"C": 10.0, "class_weight": "balanced", "folds": 3}
        self.trainings = FakeTrainings(self)
        self.table = b"text,kind\n=1+1,a\nhello there,b\nno,a\n"

    def info(self, model):
        found = super().info(model)
        if model != MODEL:
            return found
        learned = TrainedInputs(9, self.has_pairs, "message")
        return dataclasses.replace(found, trained_inputs=learned)

    def training(self, run_id):
        self._asked("training", run_id)
        if run_id != RUN:
            raise TrainingError(
                "This training is no longer here: a training and its model are removed "
                "when nobody has looked at them for a while. Start it again."
            )
        data = DataChoice(
            TableSource(SAMPLES["library_en"]),
            ColumnChoice("message", "topic", None, False),
        )
        settings = FinetuneSettings(max_tokens=9)
        return TrainingStatus(
            run_id=RUN,
            state="done",
            request=TrainingRequest(DEFAULT_MODEL, data, settings, "my books"),
            model=ModelEntry(MODEL, "my books", "trained"),
            has_log=True,
        )

    def training_outcome(self, run_id):
        self._asked("training_outcome", run_id)
        if self.is_regression:
            mean = np.full(11, NUMBERS.mean())
            least = evaluate_numbers("price", NUMBERS, mean, np.arange(2, 13))
            report, baselines = number_report(), (Baseline("mean", least),)
        else:
            report = self.report or class_report()
            least = class_report(np.ones(11, int), np.full(11, 0.4))
            words = Baseline("tfidf", class_report(TARGETS, SURE), self.chosen)
            baselines = (Baseline("majority", least), words)
        labels = ("price",) if self.is_regression else LABELS
        recipe = {"training_rows": 37, "best_epoch": 4, "epochs_run": 7}
        recipe |= {"validation_rows": 20, "test_rows": 11}
        recipe["compared_by"] = "r2" if self.is_regression else "accuracy"
        comparisons = tuple(
            compare(report, one.report, recipe["compared_by"]) for one in baselines
        )
        found = (report, baselines, comparisons, recipe)
        return RunOutcome(RUN, MODEL, labels, self.has_pairs, *found)

    def report_rows(self, run_id, indices):
        self._asked("report_rows", run_id, indices)
        pair = "second" if self.has_pairs else None
        labels = [LABELS[target] for target in TARGETS]
        if self.is_regression:
            labels = [number_text(number) for number in NUMBERS]
        return tuple(DataRow(i + 2, TEXTS[i], pair, labels[i]) for i in indices)

    def read_text(self, model, text, pair=None):
        self._asked("read_text", model, text, pair)
        tokenized = self.tokenize(model, text, pair)
        outputs = [12.5] if self.is_regression else [0.125, 0.75, 0.125]
        labels = ("price",) if self.is_regression else LABELS
        return ReadText(
            model,
            labels,
            text,
            pair,
            tokenized,
            tokenized.num_tokens + 4,
            np.array(outputs),
            self.is_regression,
        )

    def weight_change(self, run):
        self._asked("weight_change", run)
        shares = np.array([[0.0, np.nan], [np.nan, 0.25], [np.nan, 0.5]])
        totals = np.array([0.0, 0.25, 0.5])
        return WeightChange(
            ("embeddings", "layer_0", "pooler"), ("words", "query"), shares, totals
        )

    def compare_heads(self, base, texts, trained, again, *_):
        assert texts == again
        self._asked("compare_heads", base, trained, texts.text, texts.pair)
        return np.array([[0.1, 0.2, 0.3], [0.0, 0.625, 0.1]])

    def attention_matrix(self, model, texts, method, layer, head, *_):
        self._asked("attention_matrix", model, layer, head, texts.pair)
        size = self.tokenize(model, texts.text).num_tokens
        shift = 1 if model == MODEL else 0
        return np.roll(np.eye(size, dtype="float32"), shift, axis=1)

    def difference_heads(self, model, texts, other, *_, in_small):
        assert in_small
        self._asked("difference_heads", model, texts.text, other)
        size = self.tokenize(model, texts.text).num_tokens
        return np.full((2, 3, size, size), 128, "uint8")

    def view_table(self, source):
        self._asked("view_table", source.table)
        table = read_table(
            self.table,
            encoding=source.encoding,
            separator=source.separator,
            has_header=source.has_header,
        )
        return view_table(table)

    def training_bundle(self, run_id):
        self._asked("training_bundle", run_id)
        path = self.folder / "model.zip"
        if not path.exists():
            _write_zip(path)
        return str(path)

    def training_log(self, run_id):
        self._asked("training_log", run_id)
        path = self.folder / "log.zip"
        path.write_bytes(b"log")
        return str(path)

    def start(self, question, owner):
        assert owner
        """Every job has ended when it is first looked at."""
        named = dict(question.kwargs)
        self._asked("start", question.name, question.args, named)
        result = getattr(self, f"_{question.name}")(*question.args, **named)
        self.jobs["job-1"] = JobStatus("job-1", "done", 1.0, result=result)
        return "job-1"

    def _attribute(self, model, text, target, pair, baseline):
        read = self.tokenize(model, text, pair)
        scores = np.zeros((2, read.num_tokens))
        scores[:, 1], scores[:, 2] = 0.5, -0.25
        own = np.arange(1, read.num_tokens - 1)
        return Attribution(
            tokenized=read,
            contrast=None,
            value=-0.25,
            methods=("integrated_gradients", "occlusion_mask"),
            scores=scores,
            baseline_value=-0.75,
            num_steps=16,
            compared=own,
            agreement=np.eye(2),
        )

    def _nearest_training_rows(self, run, text, pair, count):
        rows = (DataRow(7, "near", None, "*spam*"), DataRow(9, "far", None, "ham"))
        return NearTrainingRows(rows, np.array([0.99, 0.5]), 37)

    def _compare_layers(self, run, reading):
        states, count = CONFIG["num_hidden_layers"] + 1, len(TARGETS)
        rng = np.random.default_rng(4)
        scores = np.linspace(0.2, 0.8, 2 * states).reshape(2, states)
        spread = np.full((2, states, 2), np.nan)
        missing = np.full((2, states), np.nan)
        if not self.is_regression:
            spread = np.stack([scores - 0.1, scores + 0.1], axis=-1)
        return LayerComparison(
            is_regression=self.is_regression,
            labels=("price",) if self.is_regression else LABELS,
            num_fitted=37,
            rows=np.arange(count),
            targets=NUMBERS if self.is_regression else TARGETS,
            scores=scores,
            score_intervals=spread,
            least=0.0 if self.is_regression else 0.36,
            separations=missing if self.is_regression else scores / 2,
            coordinates=rng.normal(size=(2, states, count, 2)),
            explained=np.full((2, states), 0.5),
        )

    def _predict_table(self, model, source, text_column, pair_column):
        path = self.folder / "predicted.csv"
        path.write_bytes(b"text,predicted\r\n'=1+1,ham\r\n")
        return TablePredictions(
            labels=LABELS,
            is_regression=False,
            num_rows=3,
            num_empty=1,
            num_cut=0,
            counts=np.array([1, 1, 0]),
            first=(PredictedRow(2, "=1+1", "ham", 0.75),),
            path=str(path),
        )


def _write_zip(path):
    files = {
        "config.json": "{}",
        "model.safetensors": "weights",
        "vocab.txt": "a",
        "labels.json": json.dumps(LABELS),
        "metrics.json": "{}",
        "recipe.json": json.dumps({"seed": 1}),
        "predictions.csv": "row,text\r\n2,'=1+1\r\n",
        "predictions.jsonl": '{"row": 2, "text": "=1+1"}\n',
        "predict.py": "print('predicted')",
        "NOTICE": "a licence",
        "README.md": "# my card",
        "README.zh.md": "# 我的模型卡",
    }
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(f"model/{name}", text)
