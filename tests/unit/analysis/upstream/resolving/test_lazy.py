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


def test_a_function_that_replaces_the_module_leaves_its_names_open() -> None:
    """A module that passes its name to what assigns to `sys.modules` may be another object."""
    helper = "import sys\ndef replace(name, names): sys.modules[name] = make(names)"
    source = "from .a import replace\nreplace(__name__, names)"
    assert resolve(source, "anything", a=helper).state == "undecidable"
    harmless = helper.replace("sys.modules[name] = ", "")
    assert resolve(source, "anything", a=harmless).state == "absent"


@pytest.mark.parametrize("name", ["__name__", "'up'", '"up"'])
def test_a_module_that_removes_itself_leaves_its_names_open(name: str) -> None:
    """What is imported then is what others put into its place; other modules do not matter."""
    source = "import sys\ndel sys.modules[{}]\ninstall()"
    assert resolve(source.format(name), "anything").state == "undecidable"
    assert resolve(source.format("'other'"), "anything").state == "absent"


def test_a_name_that_a_function_binds_anew_may_be_more_than_none() -> None:
    """What is None when the module is imported may have attributes later."""
    source = "Lock = None\ndef init():\n    global Lock\n    Lock = make()"
    assert resolve(source, "Lock.acquire").state == "undecidable"
    assert resolve("Lock = None", "Lock.acquire").state == "absent"


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


@pytest.mark.parametrize(
    ("uses", "state"),
    [
        (
            "names: dict = sys.modules[module].__dict__\n    return names['f']",
            "present",
        ),
        ("return sys.modules[module].__dict__['f']", "present"),
        ("names = sys.modules[module].__dict__\n    names['f'] = 1", "undecidable"),
        ("names = sys.modules[module].__dict__\n    names.update(f=1)", "undecidable"),
        ("sys.modules[module].__dict__['f'] = 1", "undecidable"),
        ("sys.modules[module].__dict__.pop('f')", "undecidable"),
        ("exec('f = 1', sys.modules[module].__dict__)", "undecidable"),
        ("sys.modules[module] = 1", "undecidable"),
    ],
)
def test_a_module_that_gives_its_name_away(uses: str, state: str) -> None:
    """It may be replaced, or get other names, unless who gets the name only reads the module."""
    helper = f"import sys\ndef helped(module):\n    {uses}\n"
    source = (
        "from up.helper import helped\ndef f(): ...\n__getattr__ = helped(__name__)\n"
    )
    assert resolve(source, "f", helper=helper).state == state


def test_a_module_that_other_code_gives_a_getattr() -> None:
    """What statements bind stays, and what they do not bind may be provided."""
    helper = "import sys\ndef give(name, get): sys.modules[name].__getattr__ = get"
    source = "from .a import give\ndef bound(x): ...\ngive(__name__, former)"
    bound = resolve(source, "bound", a=helper)
    assert (bound.state, bound.is_sure) == ("present", True)
    assert resolve(source, "other", a=helper).state == "undecidable"
    others = helper.replace("__getattr__", "__doc__")
    assert resolve(source, "bound", a=others).state == "undecidable"
