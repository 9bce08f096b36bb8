"""Text to word pieces, as BERT was trained to see it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import (
    AddedToken,
    Encoding,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
)
from tokenizers.trainers import Trainer

from bertviz_core.errors import TokenizerError, require_positions
from bertviz_core.tokenizer_files import (
    LONE_SURROGATE,
    AddedPiece,
    extended,
    read_added_pieces,
    read_switches,
    read_tokenizer_json,
    read_vocabulary,
)
from bertviz_core.trace import SPECIAL_TOKENS, TokenizedText


class BertTokenizer:
    """WordPiece over Hugging Face `tokenizers`; immutable and thread-safe.

    Args:
        vocabulary: V word pieces by id.
        lower_case: folds case, and accents unless `strip_accents` says else.
        strip_accents: `None` follows `lower_case`, as in Google's code.
        tokenize_chinese_chars: makes every CJK character a word of its own.
        added: tokens that are looked for in the text first, by their ids; those
            beyond V make the vocabulary longer.

    Raises:
        TokenizerError: one of the five special tokens is absent, or an added token
            does not go on where the vocabulary ends.

    Source: google-research/bert, `tokenization.py`; the defaults are those of Hugging
    Face's `BertTokenizer`.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        lower_case: bool = True,
        strip_accents: bool | None = None,
        tokenize_chinese_chars: bool = True,
        added: Sequence[AddedPiece] = (),
    ) -> None:
        self.vocabulary = extended(vocabulary, added)
        self._added, self._num_pieces = tuple(added), len(vocabulary)
        self.lower_case = lower_case
        self.strip_accents = strip_accents
        self.tokenize_chinese_chars = tokenize_chinese_chars
        ids = {token: index for index, token in enumerate(self.vocabulary)}
        _require_special_tokens(ids)
        self.pad_token_id, self.unk_token_id = ids["[PAD]"], ids["[UNK]"]
        self.cls_token_id, self.sep_token_id = ids["[CLS]"], ids["[SEP]"]
        self.mask_token_id = ids["[MASK]"]
        # Words are not made of added tokens.
        pieces = {token: index for index, token in enumerate(vocabulary)}
        self._tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
        self._tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=tokenize_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lower_case,
        )
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        fold = self._tokenizer.normalizer.normalize_str
        self._tokenizer.add_tokens(_added_tokens(self._added, fold))

    @property
    def vocab_size(self) -> int:
        """V, rows of the vocabulary file and tokens that were added to it."""
        return len(self.vocabulary)

    @classmethod
    def from_vocab_file(cls, path: Path, **options: Any) -> BertTokenizer:
        """Reads `vocab.txt`, one word piece a line.

        Raises:
            TokenizerError: the file cannot be read, or see the constructor.
        """
        return cls(read_vocabulary(path), **options)

    @classmethod
    def from_folder(cls, folder: Path, lower_case: bool | None = None) -> BertTokenizer:
        """Reads the tokenizer files of a checkpoint.

        `vocab.txt`, else `tokenizer.json`, with the switches of
        `tokenizer_config.json`, which go first as in `transformers`. Tokens that were
        added are in a file beside. Where the files do not say it, case is folded unless
        `lower_case` is false.

        Raises:
            TokenizerError: no file, or not a WordPiece tokenizer of BERT's kind.
        """
        added, switches = read_added_pieces(folder), read_switches(folder)
        if (path := folder / "vocab.txt").is_file():
            options = {"lower_case": lower_case is not False} | switches
            return cls.from_vocab_file(path, added=added, **options)
        if (path := folder / "tokenizer.json").is_file():
            return cls(added=added, **(read_tokenizer_json(path) | switches))
        raise TokenizerError(
            "The folder {folder} has no vocabulary. Add the checkpoint's own vocab.txt "
            "or tokenizer.json.",
            folder=folder.name,
        )

    def encode(
        self,
        text: str,
        pair: str | None = None,
        max_tokens: int | None = None,
        cut: bool = False,
    ) -> TokenizedText:
        """Splits a text, or two: `[CLS] text [SEP]`, `[CLS] text [SEP] pair [SEP]`.

        Args:
            text: any string; special tokens written in it count as such.
            pair: second text; its tokens are of type 1. "" means none.
            max_tokens: T at most, special tokens counted.
            cut: leaves out the end of the longer text where there is too much, of
                both where each is longer than half of the room, instead of refusing.

        Raises:
            TextError: too many tokens and `cut` is false.
        """
        pair = pair or None
        texts = [text] if pair is None else [text, pair]
        parts = [self._encode_one(part) for part in texts]
        lengths = [len(part) for part in parts]
        num_added = len(parts) + 1
        uncut = sum(lengths) + num_added
        if max_tokens is not None and uncut > max_tokens:
            if not cut:
                require_positions(uncut, max_tokens)
            lengths = _shortened(lengths, max(max_tokens - num_added, 0))
        return self._assemble(text, pair, list(zip(parts, lengths, strict=True)), uncut)

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """Piece ids of many texts at once, without special tokens around them."""
        encodings = self._tokenizer.encode_batch_fast(
            list(texts), add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def split_words(self, text: str) -> list[str]:
        """The words and punctuation marks of a text, normalised, before WordPiece."""
        clean = self._tokenizer.normalizer.normalize_str(
            LONE_SURROGATE.sub("\ufffd", text)
        )
        return [
            word for word, _ in self._tokenizer.pre_tokenizer.pre_tokenize_str(clean)
        ]

    def learn_vocabulary(
        self, texts: Iterable[str], trainer: Trainer
    ) -> tuple[str, ...]:
        """Learns word pieces by id from texts cut as by this tokenizer, read once.

        The trainer says how many, and which special tokens come first.
        """
        student = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        student.normalizer = self._tokenizer.normalizer
        student.pre_tokenizer = self._tokenizer.pre_tokenizer
        student.train_from_iterator(texts, trainer)
        ids = student.get_vocab()
        return tuple(sorted(ids, key=ids.__getitem__))

    def save(self, folder: Path) -> None:
        """Writes `vocab.txt` and `tokenizer_config.json` as Hugging Face does."""
        lines = "".join(f"{token}\n" for token in self.vocabulary[: self._num_pieces])
        (folder / "vocab.txt").write_text(lines, encoding="utf-8", newline="\n")
        switches: dict[str, Any] = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lower_case,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.tokenize_chinese_chars,
        }
        if self._added:
            switches["added_tokens_decoder"] = {
                str(piece.piece_id): piece.description for piece in self._added
            }
        (folder / "tokenizer_config.json").write_text(
            json.dumps(switches, indent=2) + "\n", encoding="utf-8"
        )

    def _encode_one(self, text: str) -> Encoding:
        # Half a surrogate pair cannot be UTF-8; the replacement keeps offsets.
        clean = LONE_SURROGATE.sub("\ufffd", text)
        return self._tokenizer.encode(clean, add_special_tokens=False)

    def _assemble(
        self, text: str, pair: str | None, parts: list[tuple[Encoding, int]], uncut: int
    ) -> TokenizedText:
        ids, types = [self.cls_token_id], [0]
        offsets, words = [(0, 0)], [-1]
        for segment, (part, size) in enumerate(parts):
            ids += [*part.ids[:size], self.sep_token_id]
            types += [segment] * (size + 1)
            places = part.offsets
            for left_out, _ in places[size : size + 1]:
                # A Korean syllable may be cut in two: pieces of it are of no character.
                places = [(start, min(end, left_out)) for start, end in places]
            offsets += [*places[:size], (0, 0)]
            words += [-1 if word is None else word for word in part.word_ids[:size]]
            words.append(-1)
        return TokenizedText(
            text=text,
            pair=pair,
            tokens=tuple(self.vocabulary[index] for index in ids),
            input_ids=np.array(ids, "int32"),
            token_type_ids=np.array(types, "int32"),
            offsets=np.array(offsets, "int32"),
            word_ids=np.array(words, "int32"),
            unk_token_id=self.unk_token_id,
            mask_token_id=self.mask_token_id,
            num_tokens_uncut=uncut,
        )


def _added_tokens(
    added: Sequence[AddedPiece], fold: Callable[[str], str]
) -> list[AddedToken]:
    described = {}
    for piece in added:
        # Looked for as folded, one of which nothing is left panics or never ends.
        normalized = piece.normalized and fold(piece.content) != ""
        facts = piece.description | {"normalized": normalized}
        described[piece.content] = AddedToken(**facts)
    # Those of the vocabulary have their ids; the others get theirs in this order.
    others = (token for token in SPECIAL_TOKENS if token not in described)
    special = (AddedToken(token, special=True) for token in others)
    return [*special, *described.values()]


def _shortened(lengths: list[int], room: int) -> list[int]:
    """Leaves the shorter text at most half of the room, and the longer the rest.

    Source: Hugging Face `tokenizers`, `truncate_encodings`, longest first: with it the
    models that leave from here give the same numbers in `transformers`.
    google-research/bert (`run_classifier.py`, `_truncate_seq_pair`) differs in one
    piece: where both texts are cut, an odd one stays with the first.
    """
    if len(lengths) == 1:
        return [room]
    is_second_shorter = lengths[1] < lengths[0]
    kept = min(*lengths, room // 2)
    return [room - kept, kept] if is_second_shorter else [kept, room - kept]


def _require_special_tokens(ids: dict[str, int]) -> None:
    missing = [token for token in SPECIAL_TOKENS if token not in ids]
    if missing:
        raise TokenizerError(
            "The vocabulary lacks special tokens that BERT needs. Received: "
            "{vocab_size} entries without {missing}. Use the checkpoint's own "
            "vocab.txt.",
            vocab_size=len(ids),
            missing=", ".join(missing),
        )
