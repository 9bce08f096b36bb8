"""Single steps, for tests that ask for one."""

import numpy as np

from bertviz_core.experiments.layer_steps import StepReader


def step_values(explorer, trace, name):
    """The numbers of one step; see `StepReader.values`."""
    return StepReader(explorer, trace).values(name)


def close(actual, expected, read=None, share=1e-6):
    """To 1e-6 of the largest number, which is as near as float32 comes to float64.

    Args:
        actual: what a model in float32 says.
        expected: the same, by whoever else.
        read: whose largest number counts; `None` for `expected` itself.
        share: of the largest number, where it is another one.
    """
    size = max(1.0, float(np.abs(expected if read is None else read).max()))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * size)
