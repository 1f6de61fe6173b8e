"""Names that a module's `__getattr__` makes, from tables and without."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import resolve
from patchkit.analysis.upstream.resolving.values import Kind

LAZY = """
from importlib import import_module
TABLE = {'Moved': '.a:There', 'Gone': '.a:Nowhere'}
if TYPE_CHECKING:
    from .a import There as Moved
else:
    def __getattr__(name):
        if name in TABLE:
            module, attribute = TABLE[name].split(':')
            return getattr(import_module(module, __package__), attribute)
        raise AttributeError(name)
"""
LAZY_SHAPES = (
    LAZY,
    """
_OF = {'Moved': 'up.a', 'Gone': 'up.b'}
import importlib
def __getattr__(name):
    if name in _OF:
        module = importlib.import_module(_OF[name])
        return getattr(module, name)
    raise AttributeError(f'no {name}')
""",
    """
_OF = {'Moved': (__spec__.parent, '.a')}
def __getattr__(name):
    if name not in _OF:
        raise AttributeError(name)
    return load(*_OF[name])
""",
    """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from up.a import There as Moved
else:
    def __getattr__(name):
        if name == 'Moved':
            return load('There')
        if name not in globals():
            raise AttributeError(name)
        return globals()[name]
""",
    """
_E = {'Moved': 'up.a:There'}
def __getattr__(name):
    spec = _E.get(name)
    if spec is None:
        return other(name)
    return load(spec)
""",
)


@pytest.mark.parametrize("source", LAZY_SHAPES)
def test_reads_lazy_tables(source: str) -> None:
    """A name in a table of `__getattr__`, or shown to type checkers, leads to its definition."""
    module_a = "class There: ...\nMoved = There"
    resolution = resolve(source, "Moved", a=module_a)
    assert resolution.state == "present"
    assert resolution.kind is Kind.CLASS
    assert str(resolution.defined) == "up.a:There"
    state_of_others = "absent" if "AttributeError" in source else "undecidable"
    assert resolve(source, "Other", a=module_a).state == state_of_others


def test_a_lazy_name_whose_module_lacks_it_is_absent() -> None:
    """A name in the table is absent if the module that the table names does not define it."""
    assert resolve(LAZY_SHAPES[0], "Gone", a="class There: ...").state == "absent"


HANDED_ON = (
    "import sys\nsys.modules[__name__] = Lazy(__name__)\nanything = 1",
    "def __getattr__(name): return find(name)",
    "import up.a\ndef __getattr__(name): return getattr(up.a, name)",
    """
    def __getattr__(name):
        from up.a import other
        found = getattr(other, name, None)
        if found is None:
            raise AttributeError(name)
        return found
    """,
    "def __getattr__(name):\n if name in computed(): return 1\n raise AttributeError",
    "def __getattr__(name):\n try:\n  return T[name]\n except KeyError: raise AttributeError",
)


@pytest.mark.parametrize("source", HANDED_ON)
def test_a_lazy_name_that_is_handed_on_is_undecidable(source: str) -> None:
    """A `__getattr__` that asks another object may have any name, and may lack it."""
    assert resolve(source, "anything", a="other = 1").state == "undecidable"


def test_a_computed_lazy_value_is_present() -> None:
    """A name for which `__getattr__` returns a computed object is present, and not sure."""
    source = "def __getattr__(name):\n if name == 'x': return compute()\n raise AttributeError"
    resolution = resolve(source, "x")
    assert (resolution.state, resolution.is_sure) == ("present", False)
    assert resolve(source, "y").state == "absent"


def test_a_submodule_of_the_name_of_a_lazy_value_is_not_sure() -> None:
    """Which of the two the package has depends on what was imported before."""
    source = """
_E = {'tool': 'up.tool:tool'}
def __getattr__(name):
    if name in _E:
        return load(_E[name])
    raise AttributeError(name)
"""
    resolution = resolve(source, "tool", tool="def tool(): ...")
    assert (resolution.state, resolution.is_sure) == ("present", False)
    resolution = resolve("", "tool", tool="def tool(): ...")
    assert (resolution.kind, resolution.is_sure) == (Kind.MODULE, True)
