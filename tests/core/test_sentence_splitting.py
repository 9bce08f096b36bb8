import pytest

from bertviz_core.sentence_splitting import neighbouring_sentences, split_sentences
from bertviz_core.sentences import LANGUAGES, bundled_passages


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ("One.", "Two!", "Three?")),
        ("下雨了。你带伞了吗？没有！", ("下雨了。", "你带伞了吗？", "没有！")),
        ("“你来吗？”他问。她点头。", ("“你来吗？”", "他问。", "她点头。")),
        ('He said "go." She went.', ('He said "go."', "She went.")),
        ("It costs 3.50 today. Yes", ("It costs 3.50 today.", "Yes")),
        ("Dr. Miller met J. Smith. They ate.", ("Dr. Miller met J. Smith.",
                                                "They ate.")),
        ("Wait... what? Rain!", ("Wait... what?", "Rain!")),
        ('He left. "Why?" she said.', ("He left.", '"Why?" she said.')),
        ("It cost 3.5 in 1965. 20 came.", ("It cost 3.5 in 1965. 20 came.",)),
        ("他说：“好。”然后走了。真的？！", ("他说：“好。”", "然后走了。", "真的？！")),
        ("No end", ("No end",)),
    ],
)  # fmt: skip
def test_a_line_is_cut_where_its_sentences_end(text, expected):
    assert split_sentences(text) == (expected,)


def test_nothing_of_the_text_is_lost():
    text = "A b. C! d e? 好。是吗？ Dr. E! “F?” G… H"
    joined = "".join(part for line in split_sentences(text) for part in line)
    assert joined.replace(" ", "") == text.replace(" ", "")


def test_sentences_of_two_paragraphs_are_no_neighbours():
    text = "One. Two. Three.\n\nFour. Five.\nSix."
    assert neighbouring_sentences(text) == (
        ("One.", "Two."),
        ("Two.", "Three."),
        ("Four.", "Five."),
    )
    for text in ("", "  \n \n", "Only one sentence"):
        assert neighbouring_sentences(text) == ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_bundled_passages_have_pairs_enough(language):
    passages = split_sentences(bundled_passages(language))
    assert {len(sentences) for sentences in passages} == {4}
    assert len(neighbouring_sentences(bundled_passages(language))) == 18


def test_there_are_no_passages_in_another_language():
    with pytest.raises(ValueError, match="fr"):
        bundled_passages("fr")
