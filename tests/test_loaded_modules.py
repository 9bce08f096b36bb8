"""What a fresh process has loaded: nobody waits at the start for what comes later."""

import subprocess
import sys

from pages.shared.navigation import ICONS
from tests.test_layering import (
    HEAVY,
    PAGES,
    ROOT,
    faults,
    file_of,
    imports_of,
    packages,
    reached_from,
)

DASK = {"dask", "distributed"}
# What single tasks, files and tables bring along.
LATER = {"pandas", "pyarrow", "scipy", "sklearn", "chardet"}


def loaded_by(modules):
    """The packages that a fresh process has after it has imported some modules."""
    program = f"import sys, {', '.join(sorted(modules))}; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return packages(done.stdout.split())


def test_whoever_asks_loads_no_framework():
    asking = {"bertviz_core.engine.engine", "bertviz_core.engine.cluster"}
    assert loaded_by(asking) & (HEAVY | DASK | LATER) == set()


def test_the_first_page_does_without_what_tables_and_figures_bring():
    scripts = (ROOT / "app.py", ROOT / PAGES / "home" / "home.py")
    names = set().union(*(imports_of(path, with_functions=False) for path in scripts))
    loaded = packages(names) | loaded_by({name for name in names if file_of(name)})
    assert "streamlit" in loaded
    assert loaded & (HEAVY | DASK | LATER) == set()


def test_a_worker_imports_hardly_anything_on_its_way_to_keras():
    on_the_way = {"bertviz_core.engine.local_cluster", "bertviz_core.engine.worker"}
    assert loaded_by(on_the_way) & (HEAVY | DASK | LATER | {"numpy"}) == set()


def test_pandas_is_whole_before_a_page_makes_its_first_figure():
    # Plotly trips over a pandas that another visitor's thread has imported half.
    export = "pages.shared.export"
    assert "pandas" in imports_of(file_of(export), with_functions=False)
    views = [ROOT / PAGES / name / f"{name}.py" for name in ICONS]
    with_figures = [path for path in views if "plotly" in reached_from(path)]
    assert len(with_figures) > 5
    assert faults(with_figures, lambda path: export not in reached_from(path)) == {}
