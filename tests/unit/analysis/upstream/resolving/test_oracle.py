"""Small programs, imported: what is told of them for sure is so, name by name.

Each file in `programs/oracle` holds programs, each below a line `# program: NAME`. It is the module
`up.a`; below `# file: NAME` follow further modules. Names after `# sure:` have to be told for sure,
and those after `# called:` with how they are called; those after `# not called:` must not be. What
is after `# at most:` has to be told with all arguments that it may take.
"""

from __future__ import annotations

import ast
import functools
import inspect
import keyword
import re
import sys
import types
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analysis.upstream.resolving.real import RealPackage
from patchkit.analysis.upstream.resolving.syntax import Signature, parameter
from patchkit.analysis.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.analysis.upstream.resolving.resolve import Resolution

FOLDER = Path(__file__).parent / "programs" / "oracle"
GENERATED = ("__init__", "__new__", "__signature__")
CONSTANTS = {Kind.CONSTANT, Kind.ASSIGNMENT}
NOT_COMPARED = {Kind.FIELD, Kind.ITEM, Kind.GENERATED, Kind.OUTSIDE}
STORED = (
    (staticmethod, "staticmethod"),
    (classmethod, "classmethod"),
    (property, "property"),
    (functools.cached_property, "cached property"),
    (types.ModuleType, "module"),
    (type, "class"),
)


def programs() -> Iterator[Any]:
    """Each program of each file, as a parameter of a test."""
    for path in sorted(FOLDER.glob("*.py")):
        parts = re.split(r"^# program: ", path.read_text("utf-8"), flags=re.MULTILINE)
        for part in parts[1:]:
            name, _, text = part.partition("\n")
            yield pytest.param(text, id=f"{path.stem}: {name}")


def names_after(word: str, text: str) -> list[str]:
    """The names that a program lists after `# WORD:`."""
    lines = re.findall(rf"^# {word}: (.*)$", text, flags=re.MULTILINE)
    return [name for line in lines for name in line.split(", ")]


def modules_of(text: str) -> dict[str, str]:
    """Split a program into its modules."""
    main, *others = re.split(r"^# file: ", text, flags=re.MULTILINE)
    modules = {"a": main}
    for other in others:
        name, _, source = other.partition("\n")
        modules[name.strip()] = source
    return modules


def questions(text: str, module: Any) -> list[str]:
    """Every word of a program, of its module and of each of its classes."""
    words = set(re.findall(r"\b[A-Za-z_]\w*\b", text))
    names = [
        word
        for word in sorted(words)
        if not keyword.iskeyword(word) and not word.startswith("__")
    ]
    asked = [*names, "nothing"]
    for node in ast.walk(ast.parse(modules_of(text)["a"])):
        if isinstance(node, ast.ClassDef):
            made = vars(getattr(module, node.name, object))
            members = [*names, *made, *GENERATED, "nothing"]
            asked += [
                f"{node.name}.{name}"
                for name in members
                if not name.startswith("__") or name in GENERATED
            ]
    return list(dict.fromkeys(asked))


def stored(module: Any, qualname: str) -> Any:
    """The object as its class or module stores it."""
    value = module
    for name in qualname.split("."):
        value = inspect.getattr_static(value, name)
    return value


def exists(package: RealPackage, qualname: str) -> bool:
    """Whether a class or module stores a name, or answers for it."""
    try:
        stored(package.modules["a"], qualname)
    except AttributeError:
        return package.has("a", qualname)
    return True


def kind_of(value: Any, qualname: str) -> str:
    """Name what a stored object is, in the words of `Kind`."""
    for kind, name in STORED:
        if isinstance(value, kind):
            return name
    if isinstance(value, types.FunctionType):
        is_async = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(
            value
        )
        kind = "method" if "." in qualname else "function"
        return f"async {kind}" if is_async else kind
    if type(value) is type(functools.cache(len)):
        return "cached function"
    return "constant"


def real_signature(value: Any) -> Signature | None:
    """How Python says that an object is called; None if it does not say."""
    function = getattr(value, "__func__", value)
    if isinstance(value, property):
        function = value.fget
    elif isinstance(value, functools.cached_property):
        function = value.func
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    kinds = [one.kind for one in found.parameters.values()]
    if isinstance(value, type) and kinds == [2, 4]:
        # It stops at a `__new__(cls, *args, **kwargs)`, which leaves it to `__init__` to say more.
        found = inspect.signature(value.__init__)
        found = found.replace(parameters=[*found.parameters.values()][1:])
    return Signature(
        parameter(one.name, int(one.kind), one.default is not one.empty)
        for one in found.parameters.values()
    )


def fault(package: RealPackage, resolution: Resolution, qualname: str) -> str:
    """Say what is told for sure and is wrong; '' for nothing."""
    is_there = exists(package, qualname)
    if resolution.state == "undecidable":
        return ""
    is_field = resolution.kind is Kind.FIELD and resolution.state == "present"
    if is_field and not resolution.is_sure:
        return ""  # whether it leaves anything on the class is left open
    if is_field and not resolution.variants[0].on_class:
        return "told to leave nothing on the class" if is_there else ""
    if any(variant.is_import_fallback for variant in resolution.variants):
        return ""
    if is_there is not (resolution.state == "present"):
        return f"told to be {resolution.state}"
    if not is_there or not resolution.is_sure:
        return ""
    return _fault_of_kind(package, resolution, qualname)


def _fault_of_kind(package: RealPackage, resolution: Resolution, qualname: str) -> str:
    try:
        value = stored(package.modules["a"], qualname)
    except AttributeError:  # a metaclass or `__getattr__` answers for it
        return ""
    told = resolution.kind
    kind = kind_of(value, qualname)
    if told not in NOT_COMPARED:
        expected = "constant" if told in CONSTANTS else str(told)
        if kind != expected and not isinstance(value, types.MethodType):
            return f"told to be a {told}, and is a {kind}"
    if resolution.signature is not None:
        real = real_signature(value)
        if real is not None and real != resolution.signature:
            return f"told to take {resolution.signature}, and takes {real}"
    if resolution.widest_signature is not None:
        real = real_signature(value)
        told_names = list(resolution.widest_signature.parameters)
        others = set(real.parameters).difference(told_names) if real else ()
        if others:
            return f"told to take no other than {told_names}, and takes {others}"
    return ""


@pytest.mark.parametrize("text", list(programs()))
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the programs are written for Python 3.11"
)
def test_what_is_told_for_sure_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Of every word in a program: whether it is there, what it is, and how it is called."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = RealPackage(tmp_path, monkeypatch, **modules_of(text))
    wrong: dict[str, str] = {}
    for qualname in questions(text, package.modules["a"]):
        found = fault(package, package.resolve("a", qualname), qualname)
        if found:
            wrong[qualname] = found
    assert wrong == {}
    answers = {
        word: [package.resolve("a", name) for name in names_after(word, text)]
        for word in ("sure", "called", "not called", "at most")
    }
    assert [one for one in answers["sure"] if not one.is_sure] == []
    assert [one for one in answers["called"] if one.signature is None] == []
    assert [one for one in answers["not called"] if one.signature is not None] == []
    assert [one for one in answers["at most"] if one.widest_signature is None] == []
