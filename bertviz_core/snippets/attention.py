"""The numbers of the attention page, picture by picture; see `writing`."""

from bertviz_core.snippets.beginnings import with_gradients, with_model, with_trace


def _rows_of(program: str) -> str:
    """A program that writes each row of what it has `shown`."""
    rows = (
        "for token, row in zip(trace.tokenized.tokens, shown):\n    print(token, row)\n"
    )
    return with_trace(program + rows)


HEAD = _rows_of("""

shown = trace.attention_probs[{layer}, {head}]
""")

LAYER = HEAD.replace("[{layer}, {head}]", "[{layer}].mean(axis=0)")

MEAN = _rows_of("""
from bertviz_core.analysis.aggregation import mean_of_heads

shown = mean_of_heads(trace.attention_probs)
""")

MAX = MEAN.replace("mean_of_heads", "max_of_heads")

CHOSEN = _rows_of("""

heads = {heads}
shown = sum(trace.attention_probs[place] for place in heads) / len(heads)
""")

ROLLOUT = _rows_of("""
from bertviz_core.analysis.aggregation import rollout

shown = rollout(trace.attention_probs)[{layer}]
""")

FLOW = ROLLOUT.replace("import rollout", "import attention_flow").replace(
    "rollout(trace.attention_probs)[{layer}]",
    "attention_flow(trace.attention_probs[: {layer} + 1])",
)

NORMS = _rows_of("""
from bertviz_core.experiments.attention_parts import norm_weighted_attention

shown = norm_weighted_attention(explorer, trace, {layer}).combined
""")

VALUE_ZEROING = _rows_of("""
from bertviz_core.experiments.attention_parts import value_zeroing

shown = value_zeroing(explorer, trace, {layer})
""")

ARITHMETIC = with_trace("""
from bertviz_core.experiments.attention_parts import pair_arithmetic

found = pair_arithmetic(
    explorer, trace, {layer}, {head}, query_token={query}, key_token={key}
)
print(found.running_sums)
print(found.score, found.mask_term, found.prob, found.exposed_prob)
print(found.weighted, found.output, found.norm)
""")

PROFILE = with_trace("""
from bertviz_core.analysis.head_distances import nearest_heads
from bertviz_core.analysis.head_profiles import name_heads
from bertviz_core.experiments.attention_matrix import profile_heads

found = profile_heads(explorer, trace)
print(found.profile.of({measure}), name_heads(found.profile))
print(nearest_heads(found.distances, {layer}, {head}))
""")

CORPUS_PROFILE = with_model("""
from bertviz_core.analysis.head_distances import nearest_heads
from bertviz_core.analysis.head_profiles import name_heads
from bertviz_core.experiments.corpus_profiles import corpus_profile

found = corpus_profile(explorer, {language})
print(found.profile.of({measure}), name_heads(found.profile))
print(nearest_heads(found.distances, {layer}, {head}))
""")

SWITCHED_OFF = with_model("""
from bertviz_core.experiments.cause_results import Edge, Switches, Target
from bertviz_core.experiments.switching import switch_off

target = Target({kind}, {index}, {position})
edges = tuple(Edge(*edge) for edge in {edges})
switches = Switches({heads}, {attention}, {feed_forward}, edges)
found = switch_off(explorer, {text}, target, switches, {pair})
print(found.before.value, found.after.value)
""")

HEAD_MAP = with_gradients("""
from bertviz_core.experiments.ablation import ablate_heads
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.gradients import estimate_heads

target = Target({kind}, {index}, {position})
found = ablate_heads(explorer, {text}, target, {pair})
print(found.before.value, found.deltas)
estimate = estimate_heads(explorer, {text}, target, {pair})
print(estimate)
""")

PART_MAP = with_model("""
from bertviz_core.experiments.ablation import ablate_parts
from bertviz_core.experiments.cause_results import Target

target = Target({kind}, {index}, {position})
found = ablate_parts(explorer, {text}, target, {pair})
print(found.before.value, found.deltas)
""")

PATCHED = with_model("""
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.patching import patch_hidden_states

target = Target({kind}, {index}, {position})
found = patch_hidden_states(explorer, {text}, {other}, target, {minus}, {pair})
print(found.clean_score, found.corrupted_score)
print(found.recovered)
""")

GRAMMAR = """
from bertviz_core import Explorer
from bertviz_core.experiments.corpus_profiles import grammar_of_heads

found = grammar_of_heads(Explorer.open({model}), {language})
for name, count, values, rule in zip(
    found.relations, found.counts, found.accuracies, found.baselines
):
    print(name, count, values.max(), rule)
"""
