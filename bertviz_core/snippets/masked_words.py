"""The numbers of the masked-word page, panel by panel; see `writing`."""

from bertviz_core.snippets.beginnings import with_gradients, with_model

CHOICES = with_model("""
from bertviz_core.analysis import sampling

words = explorer.vocabulary
logits = explorer.predict_masks({text}, cut={cut}).logits[{mask_index}]
probs = sampling.softmax(logits)
after = sampling.sampling_distribution(
    logits, temperature={temperature}, top_k={top_k}, top_p={top_p}
)
order = sampling.rank_order(logits)
for token_id in order[:{num_words}]:
    print(words[token_id], logits[token_id], probs[token_id], after[token_id])
print(sampling.entropy_bits(after), sampling.effective_choices(after))
""")

CHOICES_ALONE = CHOICES.replace(
    "sampling.rank_order(logits)",
    "[i for i in sampling.rank_order(logits) if words[i].isalnum()]",
)


def with_draws(choices: str) -> str:
    """A program of choices that also draws from what they leave."""
    return (
        choices
        + """\
draws = sampling.draw_tokens(after, {num_draws}, seed={seed})
print([words[token_id] for token_id in draws[:10]])
"""
    )


FILLING = with_model("""
from bertviz_core.experiments.joint_filling import fill_masks

filling = fill_masks(explorer, {text}, {mode})
for step in filling.steps:
    print(step.mask_index + 1, step.token, step.log_prob)
print(filling.log_prob)
""")

PAIRS = with_model("""
from bertviz_core.experiments.joint_filling import best_pairs

pairs = best_pairs(explorer, {text}, top_k={top_k})
for words, forward, backward in zip(
    pairs.tokens, pairs.log_prob_forward, pairs.log_prob_backward
):
    print(words, forward, backward)
""")

COMPARISON = with_model("""
from bertviz_core.analysis.two_sentences import compare_predictions, most_shifted

first = explorer.predict_masks({first}).logits[{mask_index}]
second = explorer.predict_masks({second}).logits[{other_mask_index}]
found = compare_predictions(first, second)
print(found.divergence_bits)
for ids in most_shifted(found, {num_words}, {least_prob}):
    for token_id in ids:
        print(explorer.vocabulary[token_id], found.shifts[token_id])
""")

LENS = with_model("""
from bertviz_core.experiments.lens import read_layers

word_ids = [explorer.vocabulary.index(word) for word in {words}]
lens = read_layers(
    explorer, {text}, word_ids=word_ids, positions=[{position}]
)
for layer, best in enumerate(lens.top_tokens):
    print(layer, best[0][0], *lens.word_ranks[:, layer, 0])
""")

REASONS = with_gradients("""
from bertviz_core.experiments.attribution import attribute
from bertviz_core.experiments.cause_results import Target

target = Target("mlm", {word_id}, position={position})
found = attribute(
    explorer, {text}, target, contrast={contrast}, baseline={baseline}
)
print(found.value, found.completeness_error)
for method, scores in zip(found.methods, found.scores):
    print(method, dict(enumerate(scores)))
""")

RANDOM_WEIGHTS = with_gradients("""
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.random_weights import check_with_random_weights

target = Target("mlm", {word_id}, position={position})
found = check_with_random_weights(
    explorer, {text}, target, {contrast}, baseline={baseline}, seed={seed}
)
print(dict(zip(found.own.methods, found.agreement)))
""")

WHOLE_WORDS = with_model("""
from bertviz_core.experiments.whole_word import find_whole_words

found = find_whole_words(
    explorer, {text}, {num_pieces}, {kind}, mask_index={mask_index}
)
for word, log_prob in zip(found.words, found.log_prob):
    print(word, log_prob)
""")
