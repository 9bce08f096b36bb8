"""The storeys of CONTRIBUTING.md, held by reading the source."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE, PAGES = "bertviz_core", "pages"
FACE = {"streamlit", PAGES, "app", "server"}
HEAVY = {
    *("keras", "openvino", "tensorflow", "tokenizers", "safetensors"),
    *("torch", "transformers"),
}
# What a page may import of the core; a name that ends in a dot means all below.
LIGHT = (
    "bertviz_core.errors",
    "bertviz_core.cached_files",
    "bertviz_core.config",
    "bertviz_core.trace",
    "bertviz_core.checkpoints",
    "bertviz_core.checkpoints.default",
    "bertviz_core.checkpoints.versions",
    "bertviz_core.mask_text",
    "bertviz_core.chinese_words",
    "bertviz_core.analysis.",
    "bertviz_core.figures.",
    "bertviz_core.sentences",
    "bertviz_core.pretrain.tiny_results",
    "bertviz_core.sentence_splitting",
    "bertviz_core.snippets.",
    "bertviz_core.experiments",
    "bertviz_core.experiments.cause_results",
    "bertviz_core.experiments.attention_results",
    "bertviz_core.experiments.embedding_results",
    "bertviz_core.experiments.finetuned_results",
    "bertviz_core.experiments.layer_results",
    "bertviz_core.experiments.map_results",
    "bertviz_core.experiments.neuron_results",
    "bertviz_core.experiments.sentence_pair_results",
    "bertviz_core.experiments.step_results",
    "bertviz_core.experiments.step_table",
    "bertviz_core.experiments.word_results",
    "bertviz_core.experiments.word_vector_results",
    "bertviz_core.experiments.chain_results",
    "bertviz_core.finetune",
    "bertviz_core.finetune.card_words",
    "bertviz_core.finetune.cells",
    "bertviz_core.finetune.checks",
    "bertviz_core.finetune.column_choice",
    "bertviz_core.finetune.column_profile",
    "bertviz_core.finetune.columns",
    "bertviz_core.finetune.coverage",
    "bertviz_core.finetune.dataset",
    "bertviz_core.finetune.findings",
    "bertviz_core.finetune.label_kind",
    "bertviz_core.finetune.lengths",
    "bertviz_core.finetune.notes",
    "bertviz_core.finetune.prediction_file",
    "bertviz_core.finetune.remedies",
    "bertviz_core.finetune.data_check",
    "bertviz_core.finetune.evaluation",
    "bertviz_core.finetune.events",
    "bertviz_core.finetune.examples",
    "bertviz_core.finetune.numbers",
    "bertviz_core.finetune.outcome",
    "bertviz_core.finetune.paired",
    "bertviz_core.finetune.request",
    "bertviz_core.finetune.resampling",
    "bertviz_core.finetune.run_estimate",
    "bertviz_core.finetune.schedule",
    "bertviz_core.finetune.scores",
    "bertviz_core.finetune.baselines",
    "bertviz_core.finetune.selection",
    "bertviz_core.finetune.settings",
    "bertviz_core.finetune.table_limits",
    "bertviz_core.finetune.table_view",
    "bertviz_core.finetune.training_status",
    "bertviz_core.finetune.split",
    "bertviz_core.finetune.table",
    "bertviz_core.finetune.table_encoding",
    "bertviz_core.finetune.table_layout",
    "bertviz_core.engine",
    "bertviz_core.engine.client",
    "bertviz_core.engine.jobs",
    "bertviz_core.engine.worker_specs",
)
# The client names the functions of these; only workers call them.
IN_WORKERS = re.compile(r"bertviz_core\.engine\.(\w+_tasks|memory)")
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


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_types_only(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def nodes_that_run(node):
    """Every node below, without what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if is_for_types_only(child):
            continue
        yield child
        yield from nodes_that_run(child)


@functools.cache
def imports_of(path, with_functions=True):
    """Full names of all that a file imports, in functions too unless told otherwise.

    `from a import b` gives both `a` and `a.b`, as `b` may be a module.
    """
    names = set()
    tree = tree_of(path)
    for node in nodes_that_run(tree) if with_functions else tree.body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: say the whole name of what you import"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


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


def reached_from(path):
    """Every module that a file imports, and those that these import."""
    seen, waiting = {}, [(path, ())]
    while waiting:
        file, way = waiting.pop()
        is_called_here = not (way and IN_WORKERS.fullmatch(way[-1]))
        for name in imports_of(file, is_called_here):
            for module in modules_loaded_by(name):
                if module in seen:
                    continue
                seen[module] = (*way, module)
                if target := file_of(module):
                    waiting.append((target, seen[module]))
    return seen


def packages(names):
    return {name.split(".")[0] for name in names}


def is_light(module):
    return any(
        module == name or (name.endswith(".") and f"{module}.".startswith(name))
        for name in LIGHT
    )


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def light_files():
    return [file for file in CORE_FILES if is_light(module_of(file))]


def test_the_core_does_not_know_that_a_page_exists():
    assert faults(CORE_FILES, lambda path: packages(imports_of(path)) & FACE) == {}


def test_a_page_imports_no_framework_and_of_the_core_only_what_is_light():
    def not_light(path):
        names = imports_of(path)
        modules = {
            name for name in names if name.startswith(f"{CORE}.") and file_of(name)
        } | {name for name in names if name == CORE}
        heavy = {module for module in modules if not is_light(module)}
        return heavy | packages(names) & HEAVY

    assert faults(FACE_FILES, not_light) == {}


def ways_to_frameworks(path):
    ways = reached_from(path)
    return [" -> ".join(way) for module, way in ways.items() if module in HEAVY]


def test_nothing_light_reaches_a_framework():
    assert faults(light_files() + FACE_FILES, ways_to_frameworks) == {}


def test_a_way_to_a_framework_would_be_found():
    program = ROOT / CORE / "explorer.py"
    assert list(faults([program], ways_to_frameworks)) == [f"{CORE}/explorer.py"]
    assert "keras" in reached_from(ROOT / CORE / "engine" / "word_tasks.py")
    assert "tokenizers" in reached_from(ROOT / CORE / "explorer.py")
    assert len(light_files()) > 8


def test_no_file_is_named_by_its_kind():
    assert faults(ALL_FILES, lambda path: {path.stem} & FORBIDDEN_NAMES) == {}


def test_nothing_points_outside_the_repository():
    outside = ("../shared", f"{ROOT.parent}/")  # wherever this copy lies

    def pointed_at(path):
        text = path.read_text(encoding="utf-8")
        return [place for place in outside if place in text]

    assert faults(ALL_FILES, pointed_at) == {}
