"""The numbers of the activations page, part by part; see `writing`."""

CURVES = """
from bertviz_core.analysis.activations import activate, differentiate

for name, parameter in {functions}:
    value = activate(name, [{x}], parameter)[0]
    slope = differentiate(name, [{x}], parameter)[0]
    print(name, value, slope)
"""

VANISHING = """
from bertviz_core.analysis.activations import largest_slope
from bertviz_core.analysis.small_networks import gradient_through_layers

for name in {functions}:
    path = gradient_through_layers(
        name, {depth}, {weight}, width={width}, seed={seed}, start={start}
    )
    bound = path.bound(largest_slope(name))
    print(name, path.slopes.mean(), bound, path.gradients[-1])
"""

MEANS = """
from bertviz_core.analysis.activations import ACTIVATIONS
from bertviz_core.analysis.small_networks import output_signs

for name in ACTIVATIONS:
    signs = output_signs(name)
    print(name, signs.mean, signs.deviation, signs.one_sided({num_inputs}))
"""

ZIGZAG = """
from bertviz_core.analysis.small_networks import learn_two_weights

for name in ({function}, "tanh"):
    path = learn_two_weights(name, num_steps={num_steps}, seed={seed})
    print(name, path.num_one_sided, path.distances[-1])
    print(path.weights[-1])
"""

TRAINING = """
from bertviz_core.analysis.dying_neurons import train

for name, parameter in {functions}:
    run = train(
        name,
        parameter=parameter,
        learning_rate={learning_rate},
        num_steps={num_steps},
        seed={seed},
    )
    print(name, run.died_at(), run.losses[-1])
    print(run.activity[:, {neuron}].min(), run.gradients[:, {neuron}].min())
"""

COLLAPSE = """
from bertviz_core.analysis.small_networks import collapse, linear_layers, run_layers

layers = linear_layers({depth}, {seed})
one = collapse(layers)
print(one.kernel, one.bias)
for stack, name in ((layers, None), ((one,), None), (layers, {function})):
    print(run_layers(stack, [{inputs}], name)[-1][0])
"""

NORMAL = """
from bertviz_core.analysis import activations
from bertviz_core.analysis.gelu_approximation import sampled_gate

x, mean, spread = {x}, {mean}, {spread}
z = (x - mean) / spread
print(activations.normal_density([z])[0] / spread)
print(activations.normal_cumulative([z])[0])
print(activations.erf([z / 2**0.5])[0])
print(x * activations.normal_cumulative([z])[0])
print(sampled_gate([x], {num_draws}, {seed}, mean, spread)[-1, 0])
"""

APPROXIMATION = """
from bertviz_core.analysis.activations import PAPER_CONSTANT
from bertviz_core.analysis.gelu_approximation import best_constant, largest_error

print(best_constant({measure}))
for constant in ({constant}, PAPER_CONSTANT):
    found = largest_error(constant, {measure})
    print(constant, found.error, found.x)
"""
