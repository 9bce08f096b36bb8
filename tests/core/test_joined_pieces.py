import pytest

from bertviz_core.analysis.joined_pieces import join_pieces


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("the cat ##s sat .", "the cats sat."),
        ("我 爱 北 京 。", "我爱北京。"),
        ("他 用 bert 写 ai ##2 ！", "他用 bert 写 ai2！"),
        ("don ' t ( yes ) !", "don't (yes)!"),
        ("a [MASK] ,", "a [MASK],"),
        ("## b", "## b"),
        ("##s a", "s a"),
        ("", ""),
    ],
)
def test_pieces_are_put_together_as_they_are_written(tokens, text):
    assert join_pieces(tokens.split()) == text


def test_added_tokens_can_be_left_out():
    tokens = ["[CLS]", "红", "[SEP]", "a", "[SEP]"]
    assert join_pieces(tokens, ("[CLS]", "[SEP]")) == "红 a"
    assert join_pieces(tokens) == "[CLS] 红 [SEP] a [SEP]"
