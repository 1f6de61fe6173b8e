"""What metaclasses and decorators put on classes, compared with real classes."""

from __future__ import annotations

import enum
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any

import msgspec
import pydantic
import pydantic.dataclasses
import pytest
import typing_extensions
from support.programs import program

from analysis.upstream.memory import release, resolve
from patchkit.analysis.upstream.resolving import machinery
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from patchkit.analysis.upstream.resolving.resolve import Resolver

SOURCE = program(__file__, "class_machinery")


@pytest.fixture(scope="module")
def classes() -> dict[str, type]:
    """The classes of the program, as Python makes them."""
    module = types.ModuleType("up")
    # Pydantic and dataclasses look the module of a class up.
    sys.modules["up"] = module
    try:
        code = compile(SOURCE, "up", "exec", dont_inherit=True)
        exec(code, vars(module))
    finally:
        del sys.modules["up"]
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == "up" and name.isidentifier()
    }


@pytest.fixture(scope="module")
def names(classes: dict[str, type]) -> list[str]:
    """Every name that any of the classes has, or its metaclass: each is asked of all classes."""
    found: set[str] = set()
    for cls in classes.values():
        found.update(dir(cls), dir(type(cls)))
    # Protocols of typing_extensions have it at some times and not at others, on Python 3.12.
    found.discard("__callable_proto_members_only__")
    return sorted(name for name in found if name.isidentifier())


def has(cls: type, name: str) -> bool:
    """Whether a class has an attribute; a deprecated one warns, and may refuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hasattr(cls, name)


def answer(resolver: Resolver, cls: str, name: str) -> str:
    """Say what the source tells of an attribute of a class."""
    resolution = resolver.resolve(Target("up", f"{cls}.{name}"))
    if resolution.state == "present" and not resolution.variants[0].on_class:
        return "absent" if resolution.is_sure else "undecidable"
    return resolution.state


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="the program is written for Python 3.11"
)
def test_no_name_is_told_wrongly(classes: dict[str, type], names: list[str]) -> None:
    """Of 14,000 questions none is answered wrongly, and less than 8 % are left open."""
    resolver = release(SOURCE)
    wrong: list[str] = []
    undecided = 0
    for cls_name, cls in classes.items():
        for name in names:
            state = answer(resolver, cls_name, name)
            if state == "undecidable":
                undecided += 1
            elif (state == "present") is not has(cls, name):
                wrong.append(f"{cls_name}.{name} is {state}")
    assert wrong == []
    assert len(classes) * len(names) > 10_000
    assert undecided < 0.08 * len(classes) * len(names)


class Model(pydantic.BaseModel):
    x: int


class Root(pydantic.RootModel[int]):
    pass


@pydantic.dataclasses.dataclass
class Checked:
    x: int


class Struct(msgspec.Struct):
    x: int


class Typed(typing_extensions.TypedDict):
    x: int


@pytest.mark.parametrize(
    ("table", "cls"),
    [
        (machinery.OF_BASE_MODEL, Model),
        (machinery.OF_ROOT_MODEL, Root),
        (machinery.OF_PYDANTIC_DATACLASS, Checked),
        (machinery.OF_STRUCT, Struct),
        (machinery.OF_TYPED_DICT, Typed),
        (machinery.OF_TYPE, Model),
    ],
)
def test_the_tables_are_those_of_real_classes(table: frozenset[str], cls: type) -> None:
    """Each name of a table is on a real class, its instances or its metaclass."""
    lacking = {name for name in table if not has(cls, name)}
    # What `vars(BaseModel)` has as slots of instances, or by `__getattr__` of the class.
    assert lacking <= {"__getattr__", "__fields_set__"}


@pytest.mark.parametrize("cls", [Model, Root, Struct, Typed])
def test_what_is_in_no_table_may_be_set(cls: type) -> None:
    """A name that the package of a class puts on it is in the table, or said to be possible."""
    package = "typing" if cls is Typed else type(cls).__module__.partition(".")[0]
    own = {name for name in dir(cls) if name.startswith("_")} - {
        *dir(object),
        *dir(dict),
    }
    tables = (
        machinery.OF_ROOT_MODEL
        | machinery.OF_STRUCT
        | machinery.OF_TYPED_DICT
        | machinery.SET_BY_PYTHON
    )
    for name in own - tables:
        assert machinery.may_be_set(f"{package.lstrip('_')}.X", name), name


@pytest.mark.parametrize(
    ("source", "is_sure"),
    [
        ("import msgspec\nclass K(msgspec.Struct): ...", False),
        ("from typing import TypedDict\nclass K(TypedDict): ...", False),
        ("class K: ...", True),
    ],
)
def test_a_metaclass_may_have_its_own_call(source: str, is_sure: bool) -> None:
    """`K.__call__` is that of `type`, unless the metaclass of a struct or a dict has another."""
    resolution = resolve(source, "K.__call__")
    assert (resolution.state, resolution.is_sure) == ("present", is_sure)


@pytest.mark.parametrize(
    ("source", "is_told"),
    [
        ("class C: ...", True),
        ("class C(Exception): ...", True),
        ("class C(dict): ...", True),
        ("class B:\n __slots__ = ()\nclass C(B): ...", True),
        ("class C:\n __slots__ = ()", False),
        ("class C(int): ...", False),
        ("class C(tuple): ...", False),
        ("class C(set): ...", False),
        ("class C(type): ...", False),
        ("import other\nclass C(other.Base): ...", False),
    ],
)
def test_a_class_has_a_weakref_that_python_gives_it(source: str, is_told: bool) -> None:
    """It is told where the real class has one of itself or from a class of the release."""
    state = "present" if is_told else "undecidable"
    assert resolve(source, "C.__weakref__").state == state
    if is_told:
        namespace: dict[str, Any] = {}
        exec(source, namespace)
        assert hasattr(namespace["C"], "__weakref__")


def test_the_call_of_an_enum_is_that_of_its_metaclass() -> None:
    """Python's own metaclasses have methods that `type` has, too."""
    source = (
        "import abc, enum\nclass E(enum.Enum): ...\nclass A(abc.ABC): ...\nclass C: ..."
    )
    call = resolve(source, "E.__call__").variants[0]
    assert call.dotted == f"enum.{enum.EnumMeta.__qualname__}.__call__"
    assert resolve(source, "A.__call__").variants[0].dotted == "builtins.type.__call__"
    assert resolve(source, "C.__call__").variants[0].dotted == "builtins.type.__call__"
    check = resolve(source, "A.__instancecheck__").variants[0]
    assert check.dotted == "abc.ABCMeta.__instancecheck__"


@pytest.mark.parametrize(
    ("source", "state"),
    [
        ("from collections import abc\n@abc.Mapping.register\nclass C: ...", "absent"),
        ("import abc\nclass A(abc.ABC): ...\n@A.register\nclass C: ...", "absent"),
        ("import other\n@other.Mapping.register\nclass C: ...", "undecidable"),
        ("import other\n@other.register\nclass C: ...", "undecidable"),
    ],
)
def test_what_is_registered_with_an_abstract_class_is_as_it_was(
    source: str, state: str
) -> None:
    """`register` of `ABCMeta` returns the class, and sets nothing on it."""
    assert resolve(source, "C.nothing").state == state


def test_a_base_may_be_an_alias_of_a_generic() -> None:
    """A class that derives from `Alias = Mapping[str, int]` derives from `Mapping`."""
    source = (
        "from collections.abc import Mapping\nfrom typing import Generic, TypeVar\n"
        "T = TypeVar('T')\nclass B(Generic[T]):\n kept = 1\n"
        "Alias = Mapping[str, int]\nOwn = B[int]\n"
        "class C(Alias): ...\nclass D(Own): ...\n"
    )
    assert resolve(source, "C.get").variants[0].dotted == "collections.abc.Mapping.get"
    assert resolve(source, "C.nothing").state == "absent"
    assert resolve(source, "D.kept").qualname == "B.kept"
    assert resolve(source, "D.nothing").state == "absent"


@pytest.mark.parametrize(
    ("slots", "name", "state"),
    [
        ("tuple(__annotations__)", "size", "present"),
        ("list(__annotations__)", "size", "present"),
        ("tuple(__annotations__)", "late", "absent"),
        ("'size'", "size", "present"),
        ("'size'", "siz", "absent"),
        ("tuple(NAMES)", "size", "undecidable"),
    ],
)
def test_slots_of_all_annotations(slots: str, name: str, state: str) -> None:
    """The annotations above are slots, those below are not; a text is a single slot."""
    source = f"class C:\n size: int\n __slots__ = {slots}\n late: int\n"
    found = resolve(source, f"C.{name}")
    assert found.state == state
    if state == "present":
        assert found.reason == "a slot"
