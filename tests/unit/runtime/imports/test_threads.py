"""Two threads that import a package and its watched submodule do not wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.programs import program

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.processes

# Thread one holds the import lock of `pkg` and then looks for `other`, for which it needs the
# lock around all finders. Thread two looks for `pkg.sub` meanwhile, under the lock around all
# finders: a finder that wants `pkg` imported there, as importlib.util.find_spec does, never ends.
RACE = program(__file__, "race")

OURS = """
class Watcher:
    def importing(self, name): pass
    def imported(self, name, module): told.append(name)

from patchkit.runtime.imports.finder import Finder
finder = Finder(Watcher())
finder.install()
finder.watch(["pkg.sub"])
"""

WRAPT = """
import wrapt
wrapt.register_post_import_hook(lambda module: told.append(module.__name__), "pkg.sub")
"""


def test_race_with_our_finder_ends(run_child: Callable[..., Any]) -> None:
    """With our finder both imports end, and the submodule is told of."""
    child = run_child(RACE + OURS + "race()")
    assert (child.stdout, child.stderr) == ("ends pkg.sub\n", "")


def test_race_with_wrapts_finder_hangs(run_child: Callable[..., Any]) -> None:
    """The same race with wrapt's finder in place of ours hangs: so the test above can fail."""
    child = run_child(RACE + WRAPT + "race(limit=1)")
    assert (child.stdout, child.stderr) == ("hangs\n", "")


@pytest.mark.parametrize("watched", [["one"], ["two"], ["one", "two"]])
def test_circular_imports_in_two_threads(
    run_child: Callable[..., Any], watched: list[str]
) -> None:
    """Modules that import each other in two threads at once are each told of once."""
    child = run_child(
        RACE
        + OURS
        + f"""
finder.watch({watched!r})
builtins.both = threading.Barrier(2, timeout=10)
for name, other in (("one", "two"), ("two", "one")):
    (folder / (name + ".py")).write_text(f"both.wait(); import {{other}}")
first = lambda: importlib.import_module("one")
second = lambda: importlib.import_module("two")
race()
"""
    )
    assert child.stderr == ""
    assert sorted(child.stdout.split()) == ["ends", *watched]


def test_threads_that_import_one_module(run_child: Callable[..., Any]) -> None:
    """A module that many threads import at once executes once and is told of once, whole."""
    child = run_child(
        RACE
        + OURS
        + """
finder.watch(["one"])
Watcher.imported = lambda self, name, module: setattr(module, "patched", True)
(folder / "one.py").write_text("patched = False")
together = threading.Barrier(8, timeout=10)

def work():
    together.wait()
    told.append(importlib.import_module("one").patched)

threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(10)
print(told)
"""
    )
    assert (child.stdout, child.stderr) == (f"{[True] * 8}\n", "")


def test_nothing_is_locked_while_told(run_child: Callable[..., Any]) -> None:
    """While the watcher of one module is busy, another thread finds and imports others."""
    child = run_child(
        RACE
        + OURS
        + """
finder.watch(["one", "two"])
(folder / "one.py").write_text("")
(folder / "two.py").write_text("")
busy, free = threading.Event(), threading.Event()

def importing(self, name):
    if name == "one":
        busy.set()
        told.append(free.wait(10))

Watcher.importing = importing

def second():
    assert busy.wait(10)
    importlib.import_module("two")
    free.set()

first = lambda: importlib.import_module("one")
race()
"""
    )
    assert (child.stdout, child.stderr) == ("ends two True one\n", "")
