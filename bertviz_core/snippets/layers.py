"""The numbers of the layers page, part by part; see `writing`.

Layers, tokens and neurons are counted from 0 here.
"""

from bertviz_core.snippets.beginnings import with_gradients, with_model, with_trace

STEP = with_trace("""
from bertviz_core.experiments.token_numbers import part_numbers

found = part_numbers(explorer, trace, {part}, {token})
print(trace.tokenized.tokens[{token}], found.of({step}))
""")

RESIDUAL = with_trace("""
from bertviz_core.experiments.residual_stream import residual_stream

found = residual_stream(explorer, trace)
print(found.residual_norms[:, {token}])
print(found.attention_norms[:, {token}], found.attention_cosines[:, {token}])
print(found.feed_forward_norms[:, {token}], found.feed_forward_cosines[:, {token}])
""")

SIMILARITY = with_trace("""
from bertviz_core.analysis.layer_similarity import layer_similarities

found = layer_similarities(trace.hidden_states)
for row in found:
    print(row.round(4))
""")

NEURONS = with_trace("""
from bertviz_core.experiments.neurons import strongest_neurons, words_of_neuron_here

found = strongest_neurons(
    explorer, trace, {layer}, {token}, {num_neurons}, {order}
)
for neuron, activation in zip(found.neurons, found.activations):
    print(neuron, activation)
words = words_of_neuron_here(
    explorer, trace, {layer}, {neuron}, {token}, {num_words}
)
print(words.promoted_tokens, words.promoted_changes)
print(words.suppressed_tokens, words.suppressed_changes)
""")

# The words by the weights alone, whatever the text.
NEURONS_BY_WEIGHTS = NEURONS.replace("words_of_neuron_here", "words_of_neuron").replace(
    "(\n    explorer, trace, {layer}, {neuron}, {token}, {num_words}\n)",
    "(explorer, {layer}, {neuron}, {num_words})",
)

SWITCH_OFF = with_model("""
from bertviz_core.experiments.cause_results import Switches, Target
from bertviz_core.experiments.switching import switch_off

target = Target({kind}, {index}, {position})
switches = Switches(neurons=(({layer}, {neuron}),))
found = switch_off(explorer, {text}, target, switches, {pair})
print(found.before.value, found.after.value)
print(found.delta_probability, found.delta_logit)
""")

EFFECTS = with_gradients("""
from bertviz_core.experiments.cause_results import Target
from bertviz_core.experiments.neuron_effects import rank_neurons

target = Target({kind}, {index}, {position})
found = rank_neurons(explorer, {text}, target, {num_neurons}, {pair})
for neuron, measured, estimated in zip(
    found.neurons, found.deltas, found.estimated_deltas
):
    print(neuron, measured, estimated)
""")

FACTORS = with_trace("""
from bertviz_core.experiments.neuron_factors import neuron_factors

found = neuron_factors(explorer, trace, {num_factors}, {seed}, {layers})
print(1 - found.error**2, found.num_iterations)
for weights, neurons in zip(found.weights, found.top_neurons):
    print(weights.round(3), neurons[0])
""")

NORM_OF_SMALL = """
from bertviz_core.analysis.layer_norm import change_vector, layer_norm_steps

vector = {vector}
changed = change_vector(vector, {shift}, {scale})
found = layer_norm_steps(
    changed, (1.0,) * len(vector), (0.0,) * len(vector), {epsilon}
)
print(found.mean, found.variance)
print(found.output)
"""

NORM = with_trace("""
from bertviz_core.analysis.layer_norm import change_vector, layer_norm_steps
from bertviz_core.experiments.token_numbers import norm_input_at

norm = norm_input_at(explorer, trace, {step}, {token})
changed = change_vector(norm.vector, {shift}, {scale})
found = layer_norm_steps(changed, norm.gamma, norm.beta, {epsilon})
print(found.mean, found.variance)
print(found.output)
""")
