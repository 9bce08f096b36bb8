"""The numbers of the embeddings page, part by part; see `writing`."""

from bertviz_core.snippets.beginnings import with_model

INPUT_SUM = with_model("""
from bertviz_core.experiments.embedding_tables import take_input_apart

found = take_input_apart(explorer, {text}, {pair})
print(found.tokenized.tokens[{token}], found.largest_difference)
for name, part, length, share in zip(
    ("word", "position", "segment"), found.parts, found.part_norms, found.shares
):
    print(name, part[{token}, {dimension}], length[{token}], share[{token}])
print(found.summed[{token}, {dimension}], found.normed[{token}, {dimension}])
""")

POSITIONS = with_model("""
from bertviz_core.analysis.position_geometry import position_geometry
from bertviz_core.experiments.embedding_tables import position_table

found = position_geometry(position_table(explorer))
print(found.explained, found.by_distance[:8])
for position in found.standing_apart:
    # Counted from 1, as on the page.
    print(position + 1, found.norms[position], found.near_cosines[position])
""")

NEIGHBOURS = with_model("""
from bertviz_core.experiments.word_vectors import nearest_words, word_vectors

vectors = word_vectors(explorer)
found = nearest_words(explorer, vectors, {word}, {count}, {metric}, {without})
for word, score in zip(found.neighbours.words, found.neighbours.scores):
    print(word, score)
""")

ANALOGY = with_model("""
from bertviz_core.experiments.word_vectors import solve_analogy, word_vectors

vectors = word_vectors(explorer)
found = solve_analogy(
    explorer, vectors, {inputs}, {expected}, {count}, {metric}, {without}
)
print(found.rank, found.rank_without_inputs)
for word, score in zip(found.nearest.words, found.nearest.scores):
    print(word, score)
""")

AXIS = with_model("""
from bertviz_core.experiments.word_axis import project_words
from bertviz_core.experiments.word_vectors import word_vectors

vectors = word_vectors(explorer)
found = project_words(
    explorer, vectors, {first}, {second}, {words}, without={without}
)
for word, cosine, share in zip(found.words, found.cosines, found.percentiles):
    print(word, cosine, share)
""")

SENTENCES_PCA = with_model("""
from bertviz_core.experiments.sentence_maps import map_by_pca
from bertviz_core.experiments.sentence_states import sentence_states

states = sentence_states(explorer, {sentences}, {reading})
found = map_by_pca(states, {num_axes}, {alignment}, {seed})
for explained, quality in zip(found.explained, found.qualities):
    print(explained, quality)
""")

SENTENCES_NEIGHBOURS = with_model("""
from bertviz_core.experiments.sentence_maps import map_by_neighbours
from bertviz_core.experiments.sentence_states import sentence_states

states = sentence_states(explorer, {sentences}, {reading})
found = map_by_neighbours(states, {method}, {num_axes}, {seed}, {neighbourhood})
for quality in found.qualities:
    print(quality)
""")

VOCABULARY_PCA = with_model("""
from bertviz_core.experiments.vocabulary_maps import map_by_pca
from bertviz_core.experiments.word_vectors import word_vectors

vectors = word_vectors(explorer).table.vectors
found = map_by_pca(vectors, {num_axes}, {seed})
print(found.explained, found.quality)
""")

VOCABULARY_NEIGHBOURS = """
from bertviz_core import Explorer
from bertviz_core.experiments.vocabulary_maps import map_by_neighbours
from bertviz_core.experiments.word_vectors import word_vectors

# For a whole vocabulary this takes minutes.
explorer = Explorer.open({model})
vectors = word_vectors(explorer).table.vectors
found = map_by_neighbours(
    vectors, {method}, {num_axes}, {seed}, neighbourhood={neighbourhood}
)
print(found.quality)
"""

CONTEXTS = with_model("""
from bertviz_core.experiments.sentence_states import sentence_states
from bertviz_core.experiments.similar_contexts import (
    searched_sentences,
    similar_contexts,
)

own = sentence_states(explorer, [{text}], "token")
searched = sentence_states(explorer, searched_sentences({language}), "token")
found = similar_contexts(own, searched, {layer}, {point})
for one in found.contexts:
    print(one.cosine, (one.before, one.token, one.after))
""")

SENSES = with_model("""
from bertviz_core.experiments.sentence_states import word_senses

found = word_senses(explorer, {sentences}, {word}, {senses})
for layer, at in enumerate(found.separations):
    print(layer, at.score, at.within_cosine, at.between_cosine)
""")

GEOMETRY = with_model("""
from bertviz_core.experiments.sentence_maps import layer_facts
from bertviz_core.experiments.sentence_states import sentence_states

states = sentence_states(explorer, {sentences}, "token")
found = layer_facts(states, {num_deviations}, {seed})
for layer, dimensions in enumerate(found.outliers):
    # Dimensions are counted from 1, as on the page.
    print(layer, [number + 1 for number in dimensions], found.mean_cosines[layer])
    print(found.mean_cosines_without[layer], found.neighbours_kept[layer])
""")
