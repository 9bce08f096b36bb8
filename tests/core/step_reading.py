"""Single steps, for tests that ask for one and not for all."""

from bertviz_core.experiments.layer_steps import StepReader


def step_values(explorer, trace, name):
    """The numbers of one step; see `StepReader.values`."""
    return StepReader(explorer, trace).values(name)
