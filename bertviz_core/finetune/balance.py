"""What a row of each class counts, so that every class counts alike."""

from __future__ import annotations

import numpy as np


def class_weights(targets: np.ndarray, num_classes: int) -> np.ndarray:
    """Weighs classes by how rare they are; the mean over the rows is 1.

    Args:
        targets: int `[R]`.
        num_classes: C.

    Returns:
        float64 `[C]`: R / (classes that occur x rows of the class); 0 for a class
        without rows.

    Source:
        King and Zeng 2001, "Logistic regression in rare events data", section 4.2;
        the form is that of scikit-learn's "balanced".
    """
    counts = np.bincount(targets, minlength=num_classes)
    num_present = np.count_nonzero(counts)
    return np.divide(
        len(targets),
        num_present * counts,
        out=np.zeros(num_classes),
        where=counts > 0,
    )
