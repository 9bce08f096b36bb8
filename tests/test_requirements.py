"""What is imported is required by its name, what hosts install is pinned by hashes."""

import itertools
import re
import sys
from importlib.metadata import packages_distributions

from tests.test_layering import ROOT, imports_of, packages

OURS = {"bertviz_core", "pages", "app", "server", "tests", "benchmarks"}
# Backends of Keras that only requirements-peers.txt installs: loaded where one asks.
OPTIONAL = {"jax", "torch"}
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.M)


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name):
    """Version of each package that a file names, and those it includes."""
    text = (ROOT / name).read_text("utf-8")
    found = {canonical(package): version for package, version in PIN.findall(text)}
    for included in re.findall(r"^-r (\S+)", text, re.M):
        found |= pins(included)
    return found


def imported(*patterns):
    """Names of the packages of others, with a file that imports each."""
    return {
        name: path.name
        for path in itertools.chain.from_iterable(map(ROOT.glob, patterns))
        for name in packages(imports_of(path)) - OURS - sys.stdlib_module_names
    }


def unnamed(imports, required):
    installed = packages_distributions()
    return {
        name: file
        for name, file in imports.items()
        if not {canonical(one) for one in installed.get(name, [name])} & required
    }


def test_all_that_the_app_imports_is_required_by_its_name():
    imports = imported("*.py", "pages/**/*.py", "bertviz_core/**/*.py")
    assert len(imports) > 20
    required = set(pins("requirements.txt")) | OPTIONAL
    assert unnamed(imports, required) == {}


def test_all_that_tests_and_benchmarks_import_is_required_by_its_name():
    imports = imported("tests/**/*.py", "benchmarks/**/*.py")
    assert unnamed(imports, set(pins("requirements-peers.txt"))) == {}


def test_hosts_install_the_pinned_versions_by_their_hashes_from_no_named_server():
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    locked = pins("requirements.lock")
    required = pins("requirements.txt")
    assert len(locked) > len(required)
    assert {name: locked.get(name) for name in required} == required
    entries = re.split(r"^(?=[\w.-]+==)", lock, flags=re.M)[1:]
    assert [e.split()[0] for e in entries if "--hash=sha256:" not in e] == []
    assert "://" not in lock


def test_the_licence_of_all_that_is_bundled_is_told():
    notice = (ROOT / "NOTICE").read_text("utf-8")
    bundled = [f"assets/{path.name}" for path in (ROOT / "assets").iterdir()]
    assert len(bundled) >= 7
    assert [path for path in [*bundled, "tests/data"] if path not in notice] == []
