"""The numbers of whole sentences on the masked-word page; see `writing`."""

from bertviz_core.snippets.beginnings import with_model

WORD_SCORES = with_model("""
from bertviz_core.experiments.scoring import score_words

scores = score_words(explorer, {text}, {words}, mask_index={mask_index})
for score in sorted(scores, key=lambda score: -score.log_prob):
    print(score.word, score.log_prob, score.tokens, score.ranks)
""")

SENTENCE_SCORE = with_model("""
from bertviz_core.experiments.scoring import score_sentence

score = score_sentence(explorer, {text}, variant={variant})
for position, log_prob in zip(score.positions, score.log_probs):
    print(score.tokenized.tokens[position], log_prob)
print(score.log_prob, score.perplexity)
""")

MINIMAL_PAIR = with_model("""
from bertviz_core.experiments.scoring import score_minimal_pair

pair = score_minimal_pair(
    explorer,
    {first},
    {second},
    variant={variant},
)
print(pair.first.log_prob, pair.second.log_prob, pair.difference)
""")

EVERY_POSITION = with_model("""
from bertviz_core.experiments.every_position import predict_every_position

found = predict_every_position(explorer, {text}, masked={masked})
for index, position in enumerate(found.positions):
    token = found.tokenized.tokens[position]
    print(token, found.surprisal_bits[index], found.ranks[index])
""")

NEXT_SENTENCE = with_model("""
from bertviz_core.experiments.next_sentence import predict_next_sentence

first = {first}
second = {second}
found = predict_next_sentence(explorer, first, second)
print(found.probability, found.probability_swapped)
""")

SHUFFLED_TEST = with_model("""
from bertviz_core.experiments.next_sentence import run_shuffled_test
from bertviz_core.sentence_splitting import neighbouring_sentences

pairs = neighbouring_sentences({text})
found = run_shuffled_test(explorer, pairs, seed={seed})
print(found.num_right, found.accuracy)
for pair, true, shuffled in zip(pairs, found.probabilities, found.shuffled):
    print(true, shuffled, pair)
""")

SHUFFLED_TEST_TWICE = (
    SHUFFLED_TEST.replace(
        "from bertviz_core.sentence_splitting",
        "from bertviz_core.experiments.random_weights import shuffled_explorer\n"
        "from bertviz_core.sentence_splitting",
    )
    + """
random = run_shuffled_test(shuffled_explorer(explorer, {seed}), pairs, seed={seed})
print(random.num_right, random.accuracy)
"""
)

CHAIN = with_model("""
from bertviz_core.experiments import gibbs
from bertviz_core.experiments.chain_results import GibbsSettings

settings = GibbsSettings(
    temperature={temperature}, top_k={top_k}, top_p={top_p},
    order={order}, seed={seed}, burn_in={burn_in},
)
state = gibbs.start_chain(explorer, {text}, settings)
run = gibbs.run_chain(explorer, state, num_steps={num_steps})
print(run.tokens_after(run.num_steps), run.change_rate)
""")

CHAIN_FROM_MASKS = CHAIN.replace(
    "start_chain(explorer, {text}, settings)",
    "start_from_masks(explorer, {num_masks}, settings)",
)
