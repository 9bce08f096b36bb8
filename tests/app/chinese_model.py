"""A tiny model of random weights whose vocabulary is Chinese characters."""

from pathlib import Path

from tests.core.checkpoint_copies import hf_copy, shallow_copy

SIZE = 61  # rows of the embeddings of `hf_tiny`
SIGNS = ("，", "。", "！", "a", "b", "##a", "7")
CHARACTERS = (
    "我喜欢吃苹果他每天早上都喝一杯牛奶北京是中国"
    "的首今气很好们去公园玩最水床前明月光疑地霜举头望低思故"
)


def write_chinese_model(folder: Path, num_layers: int = 3) -> Path:
    """Writes the checkpoint; returns its folder."""
    target = shallow_copy(folder, num_layers, name="chinese")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *SIGNS, *CHARACTERS][:SIZE]
    if len(set(pieces)) != SIZE:
        raise ValueError(f"The vocabulary has {len(set(pieces))} pieces, not {SIZE}.")
    (target / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return target


def write_mixed_model(folder: Path) -> Path:
    """Writes one whose vocabulary is for both: letters, and a few characters."""
    target = hf_copy(folder, name="mixed")
    vocabulary = target / "vocab.txt"
    pieces = vocabulary.read_text(encoding="utf-8").split()
    rare = [piece for piece in pieces if piece[-1] in "qxyzuvw"]
    characters = dict(zip(rare, CHARACTERS, strict=False))
    changed = [characters.get(piece, piece) for piece in pieces]
    vocabulary.write_text("\n".join(changed) + "\n", encoding="utf-8")
    return target
