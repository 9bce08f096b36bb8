"""The bundled models, opened and compiled once for all files that read them."""

import functools

from bertviz_core.explorer import Explorer

open_bundled = functools.cache(Explorer.open)
