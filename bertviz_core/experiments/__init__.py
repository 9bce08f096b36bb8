"""What runs the network again: scores, fillings, chains, lenses, ablations.

What most of its functions take is said here, once. `explorer` is asked, and its model
has the head that the question needs; `trace` is whole, of that model, and of a pass
without interventions; `text` and `pair` are what it reads, and `cut` leaves out what is
beyond the last position, which is refused otherwise; `target` is the answer that is
watched. Layers, heads, neurons, tokens and masks count from 0. `progress` is told the
share done and what is going on; it may raise to cancel.

They raise `CheckpointError` where the model lacks the head, and `TextError` for a text
that it cannot read, see `Explorer.tokenize` and `targets.ask`.
"""
