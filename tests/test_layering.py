"""The storeys of CONTRIBUTING.md, held by reading the source."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE, PAGES = "bertviz_core", "pages"
FACE = {"streamlit", PAGES, "app", "server"}
HEAVY = {
    *("keras", "openvino", "tensorflow", "tokenizers", "safetensors"),
    *("torch", "transformers"),
}
FORBIDDEN_NAMES = {"utils", "common", "helpers", "misc"}

CORE_FILES = sorted((ROOT / CORE).rglob("*.py"))
FACE_FILES = sorted(
    [*(ROOT / PAGES).rglob("*.py"), *(ROOT.glob("app.py")), *(ROOT.glob("server.py"))]
)
ALL_FILES = [*CORE_FILES, *FACE_FILES]


def faults(files, look):
    """What is found in files, by name; files in which nothing is found are left out.

    One test for all files: a test for each would be thousands, slower to collect
    than to run.
    """
    assert files
    found = {str(file.relative_to(ROOT)): look(file) for file in files}
    return {name: fault for name, fault in found.items() if fault}


def tree_of(path):
    """Not kept: all trees together are slower to hold than to read again."""
    return ast.parse(path.read_text(encoding="utf-8"))


def statements_below(node):
    """Every statement inside, without what only a type checker reads.

    Expressions are left out: they are nearly all of a file, and hold no import.
    """
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, part, ()):
            is_for_types = isinstance(child, ast.If) and (
                "TYPE_CHECKING" in ast.unparse(child.test)
            )
            if not is_for_types:
                yield child
                yield from statements_below(child)


@functools.cache
def imports_of(path, with_functions=True):
    """Full names of all that a file imports, in functions too unless told otherwise.

    `from a import b` gives both `a` and `a.b`, as `b` may be a module.
    """
    names = set()
    tree = tree_of(path)
    for node in statements_below(tree) if with_functions else tree.body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: say the whole name of what you import"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


@functools.cache
def file_of(module):
    """The file of a module of ours, or `None`."""
    path = ROOT.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def modules_loaded_by(module):
    """The module and the packages around it, which Python runs first."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


@functools.cache
def modules_named_in(path):
    """What a file loads itself, and nothing that these load.

    What the core imports in a function is loaded by who calls it: workers.
    """
    names = imports_of(path, with_functions=path not in CORE_FILES)
    return {module for name in names for module in modules_loaded_by(name)}


def reached_from(path):
    """Every module that a file loads, and those that these load, with the way there."""
    seen, waiting = {}, [(path, ())]
    while waiting:
        file, way = waiting.pop()
        for module in modules_named_in(file) - seen.keys():
            seen[module] = (*way, module)
            if target := file_of(module):
                waiting.append((target, seen[module]))
    return seen


def packages(names):
    return {name.split(".")[0] for name in names}


def test_the_core_does_not_know_that_a_page_exists():
    assert faults(CORE_FILES, lambda path: packages(imports_of(path)) & FACE) == {}


def ways_to_frameworks(path):
    ways = reached_from(path)
    return [" -> ".join(way) for module, way in ways.items() if module in HEAVY]


def test_no_page_loads_a_framework():
    assert faults(FACE_FILES, ways_to_frameworks) == {}


def test_a_way_to_a_framework_would_be_found():
    program = ROOT / CORE / "checkpoints" / "library.py"
    assert list(faults([program], ways_to_frameworks)) == [
        f"{CORE}/checkpoints/library.py"
    ]
    assert "keras" in reached_from(ROOT / CORE / "experiments" / "quoted_lines.py")


def test_no_page_calls_what_needs_a_model():
    """Experiments are asked, never called: their functions load frameworks."""
    tasks = {
        node.name
        for path in CORE_FILES
        for node in statements_below(tree_of(path))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(one).startswith("task(") for one in node.decorator_list)
    }
    assert len(tasks) > 70

    def called(path):
        asked = {
            name.rpartition(".")[2]
            for name in imports_of(path)
            if re.match(rf"{CORE}\.(experiments|engine)\.\w+\.[a-z]", name)
        }
        calls = (n.func for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call))
        names = {func.id for func in calls if isinstance(func, ast.Name)}
        return names & asked & tasks

    assert faults(FACE_FILES, called) == {}


def test_no_file_is_named_by_its_kind():
    assert faults(ALL_FILES, lambda path: {path.stem} & FORBIDDEN_NAMES) == {}


def test_nothing_points_outside_the_repository():
    outside = ("../shared", f"{ROOT.parent}/")  # wherever this copy lies

    def pointed_at(path):
        text = path.read_text(encoding="utf-8")
        return [place for place in outside if place in text]

    assert faults(ALL_FILES, pointed_at) == {}


def rooms_of(house):
    """The folders of the core or the pages, each with those that it imports there."""
    rooms = {}
    for path in sorted((ROOT / house).rglob("*.py")):
        parts = path.relative_to(ROOT / house).parts
        if len(parts) > 1:
            names = [name.split(".") for name in imports_of(path)]
            imported = {name[1] for name in names if name[0] == house and name[1:]}
            rooms.setdefault(parts[0], set()).update(imported - {parts[0]})
    return rooms


@pytest.mark.parametrize("house", [CORE, PAGES])
def test_rooms_do_not_import_each_other(house):
    rooms = rooms_of(house)
    assert len(rooms) > 7
    both_ways = {
        frozenset((one, other))
        for one, others in rooms.items()
        for other in others & rooms.keys()
        if one in rooms[other]
    }
    assert not both_ways


def test_rooms_of_the_core_know_nothing_of_training():
    rooms = rooms_of(CORE)
    for room in ("analysis", "checkpoints", "figures", "model"):
        assert not rooms[room] & {"training", "engine"}
    tasks = {f"{CORE}.training.finetune", f"{CORE}.training.pretrain"}
    for path in (ROOT / CORE / "training").rglob("*.py"):
        of_others = {task for task in tasks if task.split(".")[-1] != path.parent.name}
        called = {".".join(name.split(".")[:3]) for name in imports_of(path)}
        assert not called & of_others, path
