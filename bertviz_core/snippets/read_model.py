"""The numbers of the page on which the model is read; see `writing`."""

from bertviz_core.snippets.beginnings import with_model

WRONG = with_model("""
from bertviz_core.experiments.wrong_formulas import effect_of_formula

found = effect_of_formula(explorer, {text}, {name}, {token}, pair={pair})
print(found.differences, found.pooled_difference, found.next_probs)
for words, probs in zip(found.top_tokens, found.top_probs):
    print(words, probs.round(4))
""")

WEIGHT = """
import numpy as np

from bertviz_core import Explorer
from bertviz_core.experiments.weight_pictures import weight_values

values = weight_values(Explorer.open({model}), {name})
print(values.shape, values.mean(), values.std())
np.save("weight.npy", values)
"""

PADDING = """
from bertviz_core import Explorer
from bertviz_core.experiments.padding import padded_pair

found = padded_pair(Explorer.open({model}), {text}, {other})
print(found.masked_differences, found.unmasked_differences)
print(found.masked_shares, found.unmasked_shares)
"""
