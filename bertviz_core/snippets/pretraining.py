"""The numbers of the page on which a model learns; see `writing`."""

from bertviz_core.snippets.beginnings import with_model

OBJECTIVE = with_model("""
from bertviz_core.experiments.text_objective import objective_of

found = objective_of(
    explorer, {text}, {pair}, seed={seed}, rate={rate}, is_next={is_next}
)
for place, shown, loss in zip(found.positions, found.shown, found.losses):
    print(found.tokens[place], "->", shown, loss)
print(found.mlm_loss, found.nsp_loss, found.total)
""")

LAYER_DROP = """
from bertviz_core.training.schedule import keep_rate, keep_rates

num_layers, num_steps = {num_layers}, {num_steps}
last = keep_rate({step}, num_steps, final={final}, speed={speed})
rates = keep_rates(num_layers, last)
print(rates)
print(rates.sum(), "blocks of", num_layers, "on average")
"""
