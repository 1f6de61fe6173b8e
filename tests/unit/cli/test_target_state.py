from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest
from support.programs import program

from patchkit.cli.commands.show import state_of
from patchkit.core.rows.target import Target
from patchkit.runtime.drift import InstalledSource

if TYPE_CHECKING:
    from pathlib import Path

    from patchkit.cli.report.here import TargetHere

MODULE = program(__file__, "many_targets")


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose modules fail when they are imported."""
    folder = tmp_path / "upstream_of_test"
    (folder / "spaces" / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('imported')\nhere = 1\n")
    (folder / "plain.py").write_text(MODULE)
    (folder / "star.py").write_text("from elsewhere import *\ndef f(): ...\n")
    (folder / "maker.py").write_text("for n in 'ab': globals()[n] = n\n")
    (folder / "broken.py").write_text("def (\n")
    (folder / "spaces" / "deep" / "module.py").write_text("def f(): ...\n")
    (folder / "native.so").touch()
    (folder / "again.py").write_text("from .plain import Plain, helper as renamed\n")
    (tmp_path / "spaces_of_test").mkdir()
    (tmp_path / "spaces_of_test" / "module.py").write_text("def f(): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return folder


def answer(text: str) -> TargetHere:
    """What is said of a target in the package."""
    return state_of(Target.parse(f"upstream_of_test.{text}"), InstalledSource())


def state(text: str) -> str:
    """The state of a target in the package."""
    return answer(text).state


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("plain:Plain", "class, defined in upstream_of_test.plain"),
        ("plain:Plain.run", "async method, defined in upstream_of_test.plain"),
        ("plain:LIMIT", "constant, defined in upstream_of_test.plain"),
        ("plain:Derived.size", "constant, inherited from upstream_of_test.plain:Plain"),
        ("again:renamed", "function, defined in upstream_of_test.plain as helper"),
        ("plain", "module"),
    ],
)
def test_says_what_it_is_and_where_it_is_defined(
    upstream: Path, name: str, detail: str
) -> None:
    """The detail is the kind of a target and where it is defined, through re-exports and bases."""
    described = answer(name)
    assert (described.state, described.detail) == ("present", detail)


@pytest.mark.parametrize(
    "name", ["nothing", "nested", "Plain.nothing", "nothing.f", "gone"]
)
def test_what_no_statement_can_bring_is_absent(upstream: Path, name: str) -> None:
    """A name that the source cannot make is not there."""
    assert state(f"plain:{name}") == "absent"


@pytest.mark.parametrize(
    "name", ["plain:fast.f", "star:anything", "maker:a", "broken:f"]
)
def test_what_the_source_does_not_tell_is_undecided(upstream: Path, name: str) -> None:
    """A target that the source alone cannot decide is `undecided`, with the reason."""
    described = answer(name)
    assert described.state == "undecided"
    assert described.detail.startswith("not decidable statically: ")
    assert not described.detail.endswith(": ")


@pytest.mark.parametrize("name", ["gone", "gone.f", "plain.sub"])
def test_a_target_of_a_module_that_is_missing_is_no_module(
    upstream: Path, name: str
) -> None:
    """A target is `no-module` if its module or a parent is missing, or a parent is no package."""
    assert state(f"{name}:f") == "no-module"
    assert state(name) == "no-module"
    elsewhere = state_of(Target("no_such_top_level.module", "f"), InstalledSource())
    assert elsewhere.state == "no-module"


def test_the_place_is_that_of_the_definition(upstream: Path) -> None:
    """File and line are those of the definition, also for a target that re-exports it."""
    line = 1 + MODULE.splitlines().index("    async def run(self): ...")
    for name in ("plain:Plain.run", "again:Plain.run"):
        described = answer(name)
        assert (described.file, described.line) == (str(upstream / "plain.py"), line)
        assert described.defined == "upstream_of_test.plain:Plain.run"


def test_namespace_packages_are_looked_through(upstream: Path) -> None:
    """Folders without `__init__.py` are packages as well, at any depth."""
    assert state("spaces.deep.module:f") == "present"
    assert state("spaces.gone.module:f") == "no-module"


def test_a_module_without_source_is_undecided(upstream: Path) -> None:
    """Built-in and compiled modules are here, but what they hold cannot be read."""
    for module in ("sys", "upstream_of_test.native"):
        assert state_of(Target(module, "path"), InstalledSource()).state == "undecided"
        assert state_of(Target(module), InstalledSource()).state == "present"


def test_a_namespace_on_top_is_not_looked_into(upstream: Path) -> None:
    """What a namespace package at the top level holds is `undecided`, and not missing."""
    described = state_of(Target("spaces_of_test.module", "f"), InstalledSource())
    assert described.state == "undecided"
    assert "spaces_of_test is a namespace package" in described.detail


def test_nothing_is_imported(upstream: Path) -> None:
    """Neither the module nor its parents are imported to answer."""
    state("plain:Plain")
    assert not [name for name in sys.modules if name.startswith("upstream_of_test")]
