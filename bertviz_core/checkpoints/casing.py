"""Whether a vocabulary is of lower-cased text, where the files do not say.

A `vocab.txt` alone does not tell, and a wrong guess spoils every prediction, so
the choice and its reason go into the load report. So does it when a checkpoint's own
program splits text in another way than BERT's, as Japanese ones do.
"""

import re
from pathlib import Path

from bertviz_core.checkpoints.stored import Note, note
from bertviz_core.config import read_json_object
from bertviz_core.tokenizer import BertTokenizer
from bertviz_core.tokenizer_files import count_lines, read_added_pieces

# Parts of folder names, in the order in which they are looked for: "uncased"
# holds "cased", and "multi_cased" both of its words. Chinese and the first
# multilingual release were lower-cased.
# Source: google-research/bert, `tokenization.py`,
# `validate_case_matches_checkpoint`.
_LOWER_CASE_BY_NAME = (
    ("uncased", True),
    ("cased", False),
    ("chinese", True),
    ("multilingual", True),
)
# Classes of `transformers` that split text as BERT's does, or as the files say.
_BERT_CLASSES = re.compile(
    "(Bert|DistilBert|Electra|PreTrained)Tokenizer(Fast)?|TokenizersBackend"
)
_CONFIG_FILES = ("tokenizer_config.json", "bert_config.json", "config.json")


def count_pieces(folder: Path) -> int:
    """Counts the word pieces of a checkpoint's vocabulary without keeping them.

    As many as `open_tokenizer` finds; 0 where there is no vocabulary.
    """
    if (folder / "vocab.txt").is_file():
        count = count_lines(folder / "vocab.txt")
    else:
        path = folder / "tokenizer.json"
        model = read_json_object(path).get("model") if path.is_file() else None
        vocab = model.get("vocab") if isinstance(model, dict) else None
        count = len(vocab) if isinstance(vocab, dict) else 0
    added = read_added_pieces(folder) if count else ()
    return max(count, *(piece.piece_id + 1 for piece in added), 0)


def open_tokenizer(folder: Path) -> tuple[BertTokenizer, tuple[Note, ...]]:
    """Reads a checkpoint's tokenizer, guessing its casing if need be.

    The folder's name counts as a hint; the notes tell what was guessed. A tokenizer
    file that is not a JSON object is a `ConfigError`.
    """
    if not (folder / "vocab.txt").is_file():
        return BertTokenizer.from_folder(folder), ()
    stated = _stated(folder)
    if stated is not None:
        return BertTokenizer.from_folder(folder, lower_case=stated), ()
    for part, lower_case in _LOWER_CASE_BY_NAME:
        if part in folder.name.lower():
            tokenizer = BertTokenizer.from_folder(folder, lower_case)
            return tokenizer, (_note_on_name(lower_case, folder.name),)
    tokenizer = BertTokenizer.from_folder(folder, lower_case=True)
    pieces = (piece for piece in tokenizer.vocabulary if not piece.startswith("["))
    if all(piece == piece.lower() for piece in pieces):
        return tokenizer, (
            note(
                "No file says whether the model is cased. Its vocabulary has no "
                "capital letters, so text is lower-cased."
            ),
        )
    return BertTokenizer.from_folder(folder, lower_case=False), (
        note(
            "No file says whether the model is cased. Its vocabulary has capital "
            "letters, so case is kept."
        ),
    )


def notes_on_class(folder: Path) -> tuple[Note, ...]:
    """A note where `tokenizer_config.json` names a tokenizer of another kind."""
    path = folder / "tokenizer_config.json"
    name = read_json_object(path).get("tokenizer_class") if path.is_file() else None
    if not isinstance(name, str) or _BERT_CLASSES.fullmatch(name):
        return ()
    return (
        note(
            "According to tokenizer_config.json, {name} splits the text of this model. "
            "Here BERT's own tokenizer does, so tokens and answers may differ.",
            name=name[:60],
        ),
    )


def _stated(folder: Path) -> bool | None:
    for name in _CONFIG_FILES:
        if (path := folder / name).is_file():
            value = read_json_object(path).get("do_lower_case")
            if isinstance(value, bool):
                return value
    return None


def _note_on_name(lower_case: bool, name: str) -> Note:
    if lower_case:
        return note(
            "No file says whether the model is cased. Judging by its name, {name}, "
            "text is lower-cased.",
            name=name,
        )
    return note(
        "No file says whether the model is cased. Judging by its name, {name}, case is "
        "kept.",
        name=name,
    )
