"""What targets are in a release: states, kinds, definitions and reasons."""

from __future__ import annotations

import pytest
from support.programs import program

from analysis.upstream.memory import Memory, release, resolve
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target

MANY = program(__file__, "many_kinds")


@pytest.mark.parametrize(
    ("qualname", "kind", "signature"),
    [
        ("", "module", None),
        ("function", "function", "(a, *, b=…)"),
        ("coroutine", "async function", "()"),
        ("cached", "cached function", "(a)"),
        ("manager", "function", "(a)"),
        ("Class", "class", None),
        ("Class.method", "method", "(self, a)"),
        ("Class.waiting", "async method", "(self)"),
        ("Class.static", "staticmethod", "(a)"),
        ("Class.of", "classmethod", "(cls, a)"),
        ("Class.prop", "property", "(self)"),
        ("Class.once", "cached property", "(self)"),
        ("Class.level", "constant", None),
        ("Class.Inner.deep", "method", "(self)"),
        ("Class.alias", "method", "(self, a)"),
        ("Class.other", "staticmethod", "(a, *, b=…)"),
        ("Class.plain", "method", "(a, *, b=…)"),
        ("Class.__new__", "staticmethod", "(cls, a)"),
        ("number", "constant", None),
        ("table['a']", "item", "(a, *, b=…)"),
        ("table['b']", "item", None),
        ("table['c']", "item", None),
        ("rows[1]", "item", None),
        ("rows[1].method", "method", "(self, a)"),
        ("made", "assignment", None),
        ("instance", "assignment", None),
        ("new_name", "function", "(a, *, b=…)"),
        ("short", "function", "(a)"),
        ("os", "outside the release", None),
        ("j", "outside the release", None),
    ],
)
def test_a_bound_name_is_present_with_kind_and_signature(
    qualname: str, kind: str, signature: str | None
) -> None:
    """Each kind of object is present, of its kind, with its signature."""
    resolution = resolve(MANY, qualname)
    assert (resolution.state, str(resolution.kind)) == ("present", kind)
    assert (str(resolution.signature) if resolution.signature else None) == signature


@pytest.mark.parametrize(
    ("qualname", "reason"),
    [
        ("nothing", "up has no 'nothing'"),
        ("Class.nothing", "the class up:Class has no 'nothing'"),
        ("Class.Inner.nothing", "up:Class.Inner has no 'nothing'"),
        ("table['z']", "table of up has no item ['z']"),
        ("rows[7]", "has no item [7]"),
        ("nothing.at.all", "up has no 'nothing'"),
    ],
)
def test_an_unbound_name_is_absent(qualname: str, reason: str) -> None:
    """A name that no statement binds is absent; the reason says where it was looked up."""
    resolution = resolve(MANY, qualname)
    assert resolution.state == "absent"
    assert reason in resolution.reason


@pytest.mark.parametrize(
    ("source", "qualname", "reason"),
    [
        ("globals().update(f())", "x", "globals().update"),
        ("for n in f(): globals()[n] = 1", "x", "globals()[n] = 1"),
        ("from ctypes import *", "x", "from ctypes import *"),
        ("def f():\n global x\n x = 1", "x", "only once f() has run"),
        ("if a:\n x = 1", "x", "not (a)"),
        (
            "import sys\nsys.modules[__name__] = f()",
            "x",
            "into sys.modules under its name",
        ),
        ("__getattr__, __dir__ = lazy.attach(__name__)", "x", "__getattr__"),
        ("import torch\nclass C(torch.Thing): ...", "C.x", "torch.Thing"),
        ("import torch", "torch.x", "torch is outside the release"),
        ("x = f()", "x.y", "the attributes of the assignment x are not told"),
        ("def f(): ...", "f.x", "the attributes of the function f are not told"),
        ("x = {f(): 1}", "x['k']", "the key f()"),
        ("x = {}\ndef f(k): x[k] = 1", "x['k']", "filled by code"),
        ("@deco\nclass C: ...", "C.x", "@deco may set it"),
        (
            "class C: ...\nfor n in f(): setattr(C, n, 1)",
            "C.x",
            "line 2 may set it on C",
        ),
    ],
)
def test_a_name_that_code_makes_is_undecidable(
    source: str, qualname: str, reason: str
) -> None:
    """Names that code makes are undecidable, with the code named; never guessed."""
    resolution = resolve(source, qualname)
    assert resolution.state == "undecidable"
    assert reason in resolution.reason


@pytest.mark.parametrize(
    ("source", "modules", "definition"),
    [
        ("from .a import x", {"a": "x = 1"}, "up.a:x"),
        ("from .a import y as x", {"a": "y = 1"}, "up.a:y"),
        ("from up.a import x", {"a": "x = 1"}, "up.a:x"),
        ("from .a import x", {"a": "from .b import x", "b": "x = 1"}, "up.b:x"),
        ("from .a import *", {"a": "x = 1"}, "up.a:x"),
        ("from .a import *", {"a": "from ctypes import *\nx = 1"}, "up.a:x"),
        ("from .a import *", {"a": "__all__ = ['x']\nx = 1"}, "up.a:x"),
        ("from .a import *", {"a": "__all__ = []\n__all__ += ['x']\nx = 1"}, "up.a:x"),
        ("from .a import *\nfrom .b import *", {"a": "x = 1", "b": "x = 2"}, "up.b:x"),
        ("import up.a\nx = up.a.y", {"a": "y = 1"}, "up.a:y"),
        ("from . import a\nx = a.y", {"a": "y = 1"}, "up.a:y"),
        ("x = y\ny = 2", {}, "up:x"),
        ("y = 1\nx = y\ny = f()", {}, "up:y"),
    ],
)
def test_follows_names_to_their_definition(
    source: str, modules: dict[str, str], definition: str
) -> None:
    """Re-exports, stars and aliases lead to where a thing is defined."""
    resolution = resolve(source, "x", **modules)
    assert resolution.state == "present"
    assert str(resolution.defined) == definition


@pytest.mark.parametrize(
    ("source", "a"),
    [
        ("from .a import *", "_x = 1\nx_ = 1"),
        ("from .a import *", "__all__ = ['y']\nx = 1\ny = 1"),
        ("from .a import *\ndel x", "x = 1"),
        ("if TYPE_CHECKING:\n from .a import x", "x = 1"),
    ],
)
def test_a_name_that_no_import_brings_is_absent(source: str, a: str) -> None:
    """Stars bring what `__all__` lists or has no underscore; type checkers' imports do not run."""
    assert resolve(source, "x", a=a).state == "absent"


def test_a_computed_all_leaves_names_undecidable() -> None:
    """What a computed `__all__` brings cannot be told; what it spells out can."""
    module_a = "__all__ = ['x'] + f()\nx = y = 1"
    assert resolve("from .a import *", "x", a=module_a).state == "present"
    assert resolve("from .a import *", "y", a=module_a).state == "undecidable"


def test_an_all_that_a_function_extends_leaves_names_undecidable() -> None:
    """A decorator that adds names to `__all__`, as those of torch.onnx do, may add any."""
    module_a = """
__all__ = ['x']
x = y = 1
def _export(name):
    def wrapper(function):
        __all__.append(name)
        return function
    return wrapper
"""
    assert resolve("from .a import *", "x", a=module_a).state == "present"
    assert resolve("from .a import *", "y", a=module_a).state == "undecidable"


def test_an_import_of_a_missing_name_is_no_variant() -> None:
    """A try whose import cannot succeed in this release leaves its handler alone."""
    source = "try:\n from .a import x\nexcept ImportError:\n from .a import y as x"
    resolution = resolve(source, "x", a="y = 1")
    assert (resolution.state, str(resolution.defined)) == ("present", "up.a:y")


def test_a_circle_of_imports_ends() -> None:
    """Modules that import a name from each other do not hold the search up."""
    resolution = resolve(
        "from .a import x", "x", a="from .b import x", b="from .a import x"
    )
    assert resolution.state == "undecidable"
    resolution = resolve(
        "from .a import *", "x", a="from .b import *", b="from .a import *\nx = 1"
    )
    assert (resolution.state, str(resolution.defined)) == ("present", "up.b:x")


def test_variants_of_one_kind_are_present() -> None:
    """A name that both branches define is present; the reason gives the conditions."""
    resolution = resolve("if a:\n def x(b): ...\nelse:\n def x(b): ...", "x")
    assert resolution.state == "present"
    assert resolution.kind is Kind.FUNCTION
    assert resolution.is_sure
    assert str(resolution.signature) == "(b)"
    assert "if a" in resolution.reason
    assert "not (a)" in resolution.reason


def test_variants_that_differ_are_not_sure() -> None:
    """A name that is a function or a class is present, and not sure."""
    resolution = resolve("if a:\n def x(): ...\nelse:\n class x: ...", "x")
    assert (resolution.state, resolution.is_sure, resolution.signature) == (
        "present",
        False,
        None,
    )


OPTIONAL = """
try:
    import ray
    class Worker:
        def run(self): ...
except ImportError as e:
    ray = None
    Worker = None
"""


def test_none_stands_in_for_an_optional_import() -> None:
    """If the handler binds None, the class and its members are present; the reason tells why."""
    for qualname, kind in (("Worker", Kind.CLASS), ("Worker.run", Kind.METHOD)):
        resolution = resolve(OPTIONAL, qualname)
        assert (resolution.state, resolution.kind, resolution.is_sure) == (
            "present",
            kind,
            True,
        )
        assert "ImportError" in resolution.reason
    assert resolve(OPTIONAL, "Worker.none").state == "absent"


def test_submodules_are_attributes() -> None:
    """A submodule is present as an attribute, also if the package does not import it."""
    resolution = resolve("", "a.x", a="x = 1")
    assert (resolution.state, str(resolution.defined)) == ("present", "up.a:x")
    assert resolve("", "a", a="").kind is Kind.MODULE
    assert resolve("", "b", a="").state == "absent"


def test_a_name_and_a_submodule_may_clash() -> None:
    """A name that is also a submodule's is not sure, unless the package imports the submodule."""
    assert not resolve("def run(): ...", "run", run="").is_sure
    resolution = resolve("from .run import run", "run", run="def run(): ...")
    assert (resolution.kind, resolution.is_sure) == (Kind.FUNCTION, True)
    resolution = resolve("run = 1\nfrom .run import x", "run", run="x = 1")
    assert (resolution.kind, resolution.is_sure) == (Kind.MODULE, True)


def test_a_missing_module_is_absent() -> None:
    """A module that the release lacks is absent, and so is what is asked of it."""
    resolver = release("")
    assert resolver.resolve(Target("up.none")).state == "absent"
    resolution = resolver.resolve(Target("up.none", "x"))
    assert (resolution.state, resolution.reason) == (
        "absent",
        "there is no module up.none",
    )


def test_knows_where_the_source_is() -> None:
    """File, lines and text cover the definition with its decorators."""
    resolution = resolve("\n@staticmethod\ndef x():\n    return 1\ny = 2\n", "x")
    assert (resolution.path, resolution.lines) == ("up/__init__.py", (2, 4))
    assert resolution.source == "@staticmethod\ndef x():\n    return 1\n"


def test_reads_only_the_modules_that_a_name_leads_through() -> None:
    """Modules that the target's name does not lead through are not read."""
    source = Memory(
        {"up.": "from .a import x\nfrom .b import y", "up.a": "x = 1", "up.b": "y = 1"}
    )
    Resolver(source).resolve(Target("up", "x"))
    assert source.read_paths == ["up/__init__.py", "up/a.py"]


DECORATORS = program(__file__, "decorators")


@pytest.mark.parametrize(
    ("decorator", "kind"),
    [
        ("same", "function"),
        ("with_name('a')", "function"),
        ("both", "function"),
        ("both(a=2)", "function"),
        ("wraps", "function"),
        ("wraps_async", "async function"),
        ("REGISTRY.register('a')", "function"),
        ("other", "decorated"),
        ("rebinds", "decorated"),
        ("unknown", "decorated"),
        ("other\n@same", "decorated"),
        ("functools.cache", "cached function"),
    ],
)
def test_reads_upstreams_decorators(decorator: str, kind: str) -> None:
    """A decorator that returns what it got, or wraps it openly, leaves kind and signature."""
    resolution = resolve(f"{DECORATORS}\n@{decorator}\ndef x(a, b=1): ...", "x")
    assert str(resolution.kind) == kind
    assert (resolution.signature is None) is (kind == "decorated")
    assert resolution.is_sure is (kind != "decorated")


def test_the_implementation_counts_among_overloads() -> None:
    """The signature is the implementation's; overloads without one are not sure."""
    source = (
        "from typing import overload\n@overload\ndef x(a): ...\n"
        "@overload\ndef x(a, b): ...\ndef x(a, b=1, c=2): ..."
    )
    assert str(resolve(source, "x").signature) == "(a, b=…, c=…)"
    without_implementation = source.rpartition("def x")[0]
    assert not resolve(without_implementation, "x").is_sure


def test_aliases_through_branches_are_told_apart_once() -> None:
    """Two branches that bind the same are one way to be bound: sixty of them are no 2**60."""
    levels = [
        f"if x{n}:\n    a{n + 1} = a{n}\nelse:\n    a{n + 1} = a{n}\n"
        for n in range(60)
    ]
    source = f"def a0(): ...\n{''.join(levels)}f = a60\n"
    assert len(resolve(source, "f").variants) == 1
