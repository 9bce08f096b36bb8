"""A client of the engine that answers from a script, without a model."""

from pathlib import Path

import numpy as np

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.config import BertConfig
from bertviz_core.engine import JobStatus
from bertviz_core.engine.questions import Asker, Outcome
from bertviz_core.errors import BertVizError, CheckpointError, TextError
from bertviz_core.experiments.whole_model import RemovedTokens, WholeModel
from bertviz_core.trace import (
    LoadReport,
    MaskPredictions,
    ModelEntry,
    ModelInfo,
    TokenizedText,
    TrainedInputs,
)

VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "lamp", "*star*")
UNK, CLS, SEP, MASK, LAMP, STAR = 1, 2, 3, 4, 5, 6

CONFIG = {
    "vocab_size": 7,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "hidden_act": "gelu",
    "max_position_embeddings": 16,
    "pre_norm": False,
}
NOTE = (
    "hidden_act is gelu, which in a Hugging Face checkpoint means the exact curve "
    "(erf)."
)
REPORT = LoadReport(
    kind="huggingface",
    loaded=("bert.embeddings.word_embeddings.weight",),
    absent_parts=("nsp", "pooler"),
    unused=("extra_*weights*",),
    optimizer_slots=0,
    reshaped=(),
    notes=((NOTE, {}),),
)


class FakeTrainings:
    """The trainings of a client that answers about them."""

    def __init__(self, client):
        self._client = client

    def start(self, request, owner):
        assert owner
        return self._client.start_training(request)

    def status(self, run_id):
        return self._client.training(run_id)

    def stop(self, run_id):
        self._client._asked("stop_training", run_id)

    def resume(self, run_id):
        self._client.resume_training(run_id)

    def bundle(self, run_id):
        return self._client.training_bundle(run_id)

    def log(self, run_id):
        return self._client.training_log(run_id)


class FakeClient:
    """Counts what it is asked, and answers with the attributes below."""

    def __init__(self):
        self.calls = []
        self.entries = [
            ModelEntry(DEFAULT_MODEL, DEFAULT_MODEL, "bundled", "en", 18_000_000),
            ModelEntry("small-zh", "small-zh", "cached", "zh", 5_000_000),
        ]
        self.earlier = []
        self.suggested = ("bert-base-uncased", "bert-base-chinese")
        self.heads = ("mlm",)
        self.trained_inputs = TrainedInputs()
        self.precision = "float32"
        self.logits = np.array([-9, -9, -9, -9, -9, 1, 0], "float32")
        self.broken = {}  # method name -> exception to raise
        self.jobs = {}
        self.split = str  # a word into its only piece
        self.reference = None  # see `experiments.reference`
        self.uploaded = None
        self.uploaded_from = None

        self.ask = Asker(self.call)

    def call(self, question):
        """Answers with the method that is called like the function."""
        name = question.name.rpartition(".")[2]
        return getattr(self, name)(*question.args, **dict(question.kwargs))

    def answer_all(self, questions):
        return tuple(map(self._outcome, questions))

    def _outcome(self, question):
        try:
            return Outcome(self.call(question))
        except BertVizError as error:
            return Outcome(error=error)

    def _asked(self, name, *arguments):
        self.calls.append((name, *arguments))
        if name in self.broken:
            raise self.broken[name]

    def models(self):
        self._asked("models")
        return tuple(self.entries)

    def earlier_uploads(self):
        self._asked("earlier_uploads")
        return tuple(self.earlier)

    def suggested_models(self):
        self._asked("suggested_models")
        return tuple(ModelEntry(name, name, "hub") for name in self.suggested)

    def info(self, model):
        self._asked("info", model)
        if not any(model == e.model_id for e in self.entries):
            raise CheckpointError(
                "The model {model} is not on this server. Choose one from the list.",
                model=model,
            )
        return ModelInfo(
            model,
            BertConfig(**{"type_vocab_size": 1} | CONFIG),
            self.heads,
            (),
            True,
            12_345_678,
            REPORT,
            self.trained_inputs,
            self.precision,
        )

    def check_against_reference(self, model):
        self._asked("check_against_reference", model)
        return self.reference

    def vocabulary(self, model):
        self._asked("vocabulary", model)
        return VOCABULARY

    def tokenize(self, model, text, pair=None, cut=False):
        self._asked("tokenize", model, text)
        words = text.replace(".", " .").split()
        if not words:
            raise TextError("The text is empty. Type a sentence.")
        words = [word if word == "[MASK]" else self.split(word) for word in words]
        kinds = {"[MASK]": MASK, "[UNK]": UNK}
        ids = [kinds.get(word, LAMP) for word in words]
        size = len(ids) + 2
        return TokenizedText(
            text=text,
            pair=pair,
            tokens=("[CLS]", *words, "[SEP]"),
            input_ids=np.array([CLS, *ids, SEP], "int32"),
            token_type_ids=np.zeros(size, "int32"),
            offsets=np.zeros((size, 2), "int32"),
            word_ids=np.array([-1, *range(len(ids)), -1], "int32"),
            unk_token_id=UNK,
            mask_token_id=MASK,
            num_tokens_uncut=size,
        )

    def predict_masks(self, model, text, pair=None, cut=False):
        self._asked("predict_masks", model, text)
        tokenized = self.tokenize(model, text)
        positions = tokenized.mask_positions
        if not len(positions):
            raise TextError(
                "There is no [MASK] in the text, so there is nothing to guess. "
                "Replace a word with [MASK]."
            )
        logits = np.tile(self.logits, (len(positions), 1))
        return MaskPredictions(tokenized, positions, logits)

    def whole_model(self, model, texts, focus=None):
        self._asked("whole_model", model, texts.text)
        read = self.tokenize(model, texts.text)
        size, layers = read.num_tokens, CONFIG["num_hidden_layers"]
        guesses = ("lamp", "*star*") if "mlm" in self.heads else ()
        shares = np.full((layers, size, size), 1 / size)
        reached = np.full((layers + 1, size), 1 / size)
        probs = np.tile([0.731, 0.269][: len(guesses)], (layers + 1, size, 1))
        words = ((guesses,) * size,) * (layers + 1)
        return WholeModel(
            read, focus or 1, 0, shares, shares, reached, reached, probs, words
        )

    def remove_tokens(self, model, texts, focus):
        self._asked("remove_tokens", model, texts.text, focus)
        size = self.tokenize(model, texts.text).num_tokens
        tokens = np.delete(np.arange(size), focus)
        changes = np.linspace(0, 0.5, size - 1)
        return RemovedTokens(tokens, changes, 0.25)

    def add_upload(self, path, name, owner):
        assert owner
        self._asked("add_upload", name)
        self.uploaded = Path(path).read_bytes()
        self.uploaded_from = Path(path)
        entry = ModelEntry(f"upload:{'0' * 16}", name, "upload", "", 512_000)
        self.entries.append(entry)
        return entry

    def remove_upload(self, model, owner):
        assert owner
        self._asked("remove_upload", model)
        self.entries = [entry for entry in self.entries if entry.model_id != model]

    def start(self, question, owner):
        assert owner
        given = [value for _, value in question.kwargs]
        self._asked("start", question.name, *question.args, *given)
        self.jobs["job-1"] = JobStatus("job-1", "running", 0.25)
        return "job-1"

    def job(self, job_id):
        self._asked("job", job_id)
        return self.jobs[job_id]

    def renew(self, names):
        self._asked("renew", *sorted(names))

    def cancel(self, job_id):
        self._asked("cancel", job_id)
        self.jobs[job_id] = JobStatus(job_id, "cancelled", 0.25)

    def count(self, name):
        """How often a method was called."""
        return sum(call[0] == name for call in self.calls)
