from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest

from patchkit.cli.facts.target_state import state_of
from patchkit.target import Target

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """\
from typing import TYPE_CHECKING
import os.path
from json import loads as read, dumps
if TYPE_CHECKING:
    from json import JSONDecoder

LIMIT: int = 3
DECLARED: int
first, (second, third) = 1, (2, 3)
text = [letter for letter in "abc"]

class Plain:
    size = 1
    async def run(self): ...
    class Inner:
        def deep(self): ...
    def start(self):
        self.started = True

class Derived(Plain):
    own = 1

@register
class Decorated:
    own = 1

class Sometimes:
    if os.name == "posix":
        def here(self): ...

class Patched: ...
Patched.extra = 1

try:
    import fast
except ImportError:
    fast = None

class Twice: ...
Twice = wrap(Twice)

def helper():
    global late
    late = 1
    def nested(): ...

gone = 1
del gone
"""


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose modules fail when they are imported."""
    folder = tmp_path / "upstream_of_test"
    (folder / "spaces" / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise AssertionError('imported')\nhere = 1\n")
    (folder / "plain.py").write_text(MODULE)
    (folder / "star.py").write_text("from os import *\ndef f(): ...\n")
    (folder / "lazy.py").write_text("def __getattr__(name): ...\n")
    (folder / "maker.py").write_text("for n in 'ab': globals()[n] = n\n")
    (folder / "broken.py").write_text("def (\n")
    (folder / "spaces" / "deep" / "module.py").write_text("def f(): ...\n")
    (folder / "native.so").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return folder


def state(text: str) -> str:
    """The state of a target in the package."""
    return state_of(Target.parse(f"upstream_of_test.{text}"))["state"]


@pytest.mark.parametrize(
    "name",
    "read dumps os LIMIT first second third text Plain Plain.size Plain.run Plain.Inner.deep "
    "Derived.own Decorated.own fast_ Twice helper".replace(" fast_", "").split(),
)
def test_what_stands_plainly_is_present(upstream: Path, name: str) -> None:
    """Definitions, assignments and imports that happen whatever happens."""
    assert state(f"plain:{name}") == "present"


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "loads",
        "nested",
        "Plain.nothing",
        "Plain.Inner.nothing",
        "nothing.f",
    ],
)
def test_what_no_statement_can_bring_is_absent(upstream: Path, name: str) -> None:
    """A name that the source cannot make is not there."""
    assert state(f"plain:{name}") == "absent"


@pytest.mark.parametrize(
    "name",
    [
        "plain:JSONDecoder",  # only for type checkers
        "plain:DECLARED",  # annotated, never set
        "plain:fast",  # in a try
        "plain:Derived.size",  # inherited
        "plain:Decorated.other",  # a decorator may add it
        "plain:Sometimes.here",
        "plain:Patched.extra",  # set from outside
        "plain:Plain.started",  # set on instances
        "plain:Twice.f",  # no longer the class that stands there
        "plain:read.f",  # of another module
        "plain:late",  # global
        "plain:gone",  # deleted again
        "star:environ",
        "lazy:anything",
        "maker:a",
        "broken:f",
    ],
)
def test_what_the_source_does_not_tell_is_undecided(upstream: Path, name: str) -> None:
    """Rather no answer than a guess."""
    answer = state_of(Target.parse(f"upstream_of_test.{name}"))
    assert answer["state"] == "undecided"
    assert answer["detail"].startswith("not decidable statically: ")


def test_a_submodule_is_no_answer(upstream: Path) -> None:
    """`package:name` may be a name of `__init__` or the submodule."""
    assert state_of(Target.parse("upstream_of_test:plain"))["state"] == "undecided"
    assert state_of(Target.parse("upstream_of_test:here"))["state"] == "present"


@pytest.mark.parametrize("name", ["gone", "gone.f", "plain.sub"])
def test_a_module_that_is_not_there(upstream: Path, name: str) -> None:
    """A missing module, a missing parent, and a parent that is no package."""
    assert state(f"{name}:f") == "no-module"
    assert state_of(Target("no_such_top_level.module", "f"))["state"] == "no-module"


def test_a_module_is_a_target_too(upstream: Path) -> None:
    """Import hooks name a module; it is found, or not."""
    assert state("plain") == "present"
    assert state("gone") == "no-module"


def test_the_place_is_given(upstream: Path) -> None:
    """A target that is present has a file and a line."""
    answer = state_of(Target.parse("upstream_of_test.plain:Plain.run"))
    assert (answer["file"], answer["line"]) == (str(upstream / "plain.py"), 14)


def test_namespace_packages_are_looked_through(upstream: Path) -> None:
    """Folders without `__init__.py` are packages as well, at any depth."""
    assert state("spaces.deep.module:f") == "present"
    assert state("spaces.gone.module:f") == "no-module"


def test_a_module_without_source_is_undecided() -> None:
    """Built-in and compiled modules are here, but what they hold cannot be read."""
    assert state_of(Target("sys", "path"))["state"] == "undecided"
    assert state_of(Target("sys"))["state"] == "present"


def test_nothing_is_imported(upstream: Path) -> None:
    """Neither the module nor its parents are imported to answer."""
    state("plain:Plain")
    assert not [name for name in sys.modules if name.startswith("upstream_of_test")]
