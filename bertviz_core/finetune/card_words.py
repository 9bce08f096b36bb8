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
    chosen: str
    last: str
    part: str
    done: str
    tuned: str
    untuned: str
    accuracy: str
    macro_f1: str
    mae: str
    mind_title: str
    mind: str
    licence_title: str
    licence: str
    no_licence: str
    hub_page: str
    origin: str
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
        "From {base}; what learned: {level}. {choice}Learning rate {rate:g}, batches "
        "of {batch}, at most {tokens} tokens a text, seed {seed}. {rows} rows to "
        "learn from. `recipe.json` says all, and `python -m bertviz_core fine-tune "
        "TABLE --recipe recipe.json --out DIR` does it again."
    ),
    chosen=(
        "{epochs} epochs were run; the weights are those of epoch {best}, the best on "
        "{rows} validation rows. "
    ),
    last=(
        "{epochs} epochs were run, and the weights are those of epoch {best}: there "
        "were too few rows for validation to choose another. "
    ),
    part="The training was stopped after step {step}. ",
    done_title="How well it does",
    done=(
        "On {rows} test rows: it did not learn from them, and they chose nothing. In "
        "brackets the range of 95% confidence."
    ),
    tuned=(
        "Word counts were tuned on the training rows by cross-validation in {folds} "
        "folds: {chosen}."
    ),
    untuned=(
        "Word counts were not tuned: the training rows are too few for "
        "cross-validation. Used: {chosen}."
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
        "and prejudices of its labels. Look at `predictions.csv` before you trust it; "
        "`predictions.jsonl` holds the same rows with exact texts and probabilities."
    ),
    licence_title="Licence",
    licence=(
        "These weights were made from {base}, whose licence is {licence}, and inherit "
        "it. Whoever passes them on keeps that licence and the file `NOTICE`, which "
        "holds the words of that model's authors."
    ),
    no_licence=(
        "The licence of {base}, from which these weights were made, is not known here. "
        "They inherit it: before you pass them on, look for it {place}."
    ),
    hub_page="on https://huggingface.co/{name}",
    origin="where that model came from",
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
        "从 {base} 开始，学习的部分：{level}。{choice}学习率 {rate:g}，"
        "每批 {batch} 条，"
        "每条文本最多 {tokens} 个词元，随机种子 {seed}。"
        "用来学习的有 {rows} 行。全部设置都在 `recipe.json` 里，"
        "用 `python -m bertviz_core fine-tune TABLE --recipe recipe.json --out DIR` "
        "就能重做一遍。"
    ),
    done_title="它做得怎么样",
    chosen=(
        "训练了 {epochs} 轮，权重取自第 {best} 轮之后：它在 {rows} 行验证集上表现最好。"
    ),
    last=(
        "训练了 {epochs} 轮，权重取自第 {best} 轮之后：数据太少，无法用验证集挑选轮次。"
    ),
    part="训练在第 {step} 步之后被停止。",
    done=(
        "以下是在 {rows} 行测试集上的结果：训练时没有使用这些行，"
        "也没有用它们做任何选择。括号里是 95% 置信度的范围。"
    ),
    tuned=("词频统计的设置是在训练集上用 {folds} 折交叉验证选出来的：{chosen}。"),
    untuned="训练集太小，无法做交叉验证，所以词频统计没有调过参数，用的是：{chosen}。",
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
        "在信任它之前，请先看看 `predictions.csv`；"
        "`predictions.jsonl` 里是同样的行，文本和概率都原样保存。"
    ),
    licence_title="许可证",
    licence=(
        "这些权重由 {base} 训练而来，它的许可证是 {licence}，这些权重也沿用这个许可证。"
        "再分发时请保留这个许可证，并附上 `NOTICE` 文件，里面有原模型作者的说明。"
    ),
    no_licence=(
        "这些权重由 {base} 训练而来，这里不知道它的许可证，而这些权重要沿用它。"
        "再分发之前，请先到{place}查明。"
    ),
    hub_page=" https://huggingface.co/{name} ",
    origin="该模型的来源处",
    methods={
        "model": "这个模型",
        "majority": "永远回答最常见的类别",
        "mean": "永远回答平均值",
        "tfidf": "统计词频（TF-IDF）",
    },
)

LANGUAGES = (ENGLISH, CHINESE)
