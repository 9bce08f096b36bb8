"""What a model card says, in each language of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CardWords:
    """The sentences of a card; names in braces are filled in.

    Args:
        file_name: of the card in that language.
        levels: what learns at each of `settings.LEVELS`.
        methods: names of this model and of the simple methods.
    """

    file_name: str
    untitled: str
    classes: str
    number: str
    between: str
    made_title: str
    made: str
    done_title: str
    done: str
    unread: str
    accuracy: str
    macro_f1: str
    mae: str
    mind_title: str
    mind: str
    levels: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)


ENGLISH = CardWords(
    file_name="README.md",
    untitled="{base}, fine-tuned",
    classes="A BERT that sorts texts into classes: {labels}.",
    number="A BERT that predicts a number: {labels}.",
    between=", ",
    made_title="How it was made",
    made=(
        "From {base}; what learned: {level}. {epochs} epochs (the weights are those of "
        "epoch {best}), learning rate {rate:g}, batches of {batch}, at most {tokens} "
        "tokens a text, seed {seed}. {rows} rows to learn from. `recipe.json` says "
        "all, and `python -m bertviz_core fine-tune TABLE --recipe recipe.json --out "
        "DIR` does it again."
    ),
    done_title="How well it does",
    done=(
        "On {rows} rows that it did not learn from. They chose the best epoch, so new "
        "texts may do a little worse. In brackets the range of 95% confidence."
    ),
    unread=(
        " The last reading by the finished model was stopped, so its numbers here and "
        "in `predictions.csv` are those of the training after epoch {epoch}, computed "
        "in {precision}."
    ),
    accuracy="accuracy",
    macro_f1="macro-F1",
    mae="MAE",
    levels={
        "head": "a new output layer alone (level “head”)",
        "top": "the upper layers, {top} of them (level “top”)",
        "full": "all layers (level “full”)",
    },
    mind_title="What to keep in mind",
    mind=(
        "It knows the kind of text that it was trained on, and repeats the mistakes "
        "and prejudices of its labels. Look at `predictions.csv` before you trust it."
    ),
    methods={
        "model": "this model",
        "majority": "always the commonest (majority)",
        "mean": "always the mean",
        "tfidf": "counting words (TF-IDF)",
    },
)

CHINESE = CardWords(
    file_name="README.zh.md",
    untitled="微调后的 {base}",
    classes="一个给文本分类的 BERT，类别有：{labels}。",
    number="一个预测数值的 BERT：{labels}。",
    between="、",
    made_title="它是怎么来的",
    made=(
        "从 {base} 开始，学习的部分：{level}。训练了 {epochs} 轮"
        "（权重取自第 {best} 轮之后），学习率 {rate:g}，每批 {batch} 条，"
        "每条文本最多 {tokens} 个词元，随机种子 {seed}。"
        "用来学习的有 {rows} 行。全部设置都在 `recipe.json` 里，"
        "用 `python -m bertviz_core fine-tune TABLE --recipe recipe.json --out DIR` "
        "就能重做一遍。"
    ),
    done_title="它做得怎么样",
    done=(
        "以下是在 {rows} 行它没有学过的数据上的结果。最好的一轮正是用这些行挑出来的，"
        "所以在新文本上可能会稍差一点。括号里是 95% 置信度的范围。"
    ),
    unread=(
        "成品模型的最后一次读取被叫停了，所以它在这里和 `predictions.csv` 里的数字，"
        "是训练中第 {epoch} 轮之后得到的，计算精度为 {precision}。"
    ),
    accuracy="准确率",
    macro_f1="宏平均 F1",
    mae="平均误差（MAE）",
    levels={
        "head": "只有新的输出层（head）",
        "top": "最上面的 {top} 层（top）",
        "full": "所有层（full）",
    },
    mind_title="使用时请注意",
    mind=(
        "它只了解训练时见过的那类文本，也会重复标签里的错误和偏见。"
        "在信任它之前，请先看看 `predictions.csv`。"
    ),
    methods={
        "model": "这个模型",
        "majority": "永远回答最常见的类别",
        "mean": "永远回答平均值",
        "tfidf": "统计词频（TF-IDF）",
    },
)

LANGUAGES = (ENGLISH, CHINESE)
