"""One text through the same numbers, with the norms in either place. L layers."""

import numpy as np

from bertviz_core.explorer import Explorer
from bertviz_core.tasks import task


@task()
def spread_in_both_orders(
    explorer: Explorer, text: str, pair: str | None = None
) -> dict[str, np.ndarray]:
    """Runs two networks that differ in `pre_norm` alone, and in its final norm.

    Both have the model's own weights; a final norm that it lacks begins as training
    would begin it. The served model is not changed. The text is cut.

    Returns:
        For "post" and "pre", float64 `[L + 2]`: the standard deviation of all numbers
        of the states, embedding output first, and of what the heads read.

    Source: Xiong et al. 2020 (arXiv:2002.04745), figure 1.
    """
    inputs = explorer.tokenize(text, pair, cut=True).inputs
    is_pre = explorer.config.pre_norm
    post, pre = explorer.forward, explorer.forward_with(pre_norm=not is_pre)
    if is_pre:
        post, pre = pre, post
    spreads = {}
    for order, forward in (("post", post), ("pre", pre)):
        found = forward(inputs, ("hidden_states", "sequence_output"))
        levels = [*found["hidden_states"][0], found["sequence_output"][0]]
        spreads[order] = np.array([one.astype(np.float64).std() for one in levels])
    return spreads
