"""Attributes of classes: inherited, written by machinery, or set by code below the class."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.programs import program

from analysis.upstream.memory import release, resolve
from analysis.upstream.resolving.real import RealPackage
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target

if TYPE_CHECKING:
    from pathlib import Path

TREE = """
from .base import Base, Mixin
from abc import ABC
class Child(Mixin, Base, ABC):
    def own(self): ...
    def __init__(self):
        self.instance = 1
class Later(Child):
    pass
Later.put = lambda self: 1
Later.of_module = helper = print
"""
BASE = """
class Root:
    def root(self, a): ...
    both = 1
class Base(Root):
    def base(self, a): ...
    def mixed(self): ...
class Mixin(Root):
    def mixed(self, b): ...
    both = 2
"""


@pytest.mark.parametrize(
    ("qualname", "definition"),
    [
        ("Child.own", "up:Child.own"),
        ("Child.base", "up.base:Base.base"),
        ("Child.root", "up.base:Root.root"),
        ("Child.mixed", "up.base:Mixin.mixed"),
        ("Child.both", "up.base:Mixin.both"),
        ("Later.own", "up:Child.own"),
    ],
)
def test_follows_the_order_of_classes(qualname: str, definition: str) -> None:
    """Members are found where Python finds them, across modules."""
    resolution = resolve(TREE, qualname, base=BASE)
    assert (resolution.state, str(resolution.defined)) == ("present", definition)


def test_an_instance_attribute_is_absent_from_the_class() -> None:
    """An attribute that only a method assigns is absent, and the reason names the method."""
    resolution = resolve(TREE, "Later.instance", base=BASE)
    assert (resolution.state, resolution.kind) == ("absent", Kind.INSTANCE_ATTRIBUTE)
    assert "Child.__init__ assigns it" in resolution.reason


def test_a_name_that_no_class_has_is_absent() -> None:
    """A name is absent if all bases are known, the standard library's included, and none has it."""
    assert resolve(TREE, "Child.nothing", base=BASE).state == "absent"


@pytest.mark.parametrize(
    ("bases", "member", "state"),
    [
        ("torch.nn.Module", "forward_all", "absent"),
        ("torch.nn.Module", "state_dict", "present"),
        ("torch.Other", "forward_all", "undecidable"),
        ("make()", "forward_all", "undecidable"),
        ("*bases", "forward_all", "undecidable"),
        ("A if c else B", "x", "undecidable"),
        ("A if c else B", "own", "present"),
        ("Exception", "args", "present"),
        ("Exception", "nothing", "absent"),
        ("Generic[T]", "nothing", "absent"),
    ],
)
def test_members_of_classes_with_bases_outside_the_release(
    bases: str, member: str, state: str
) -> None:
    """A known base decides about its members; an unknown one leaves open what comes after it."""
    source = (
        "import torch\nfrom typing import Generic\nclass A:\n x = 1\nclass B: ...\n"
        f"class C({bases}):\n own = 1"
    )
    assert resolve(source, f"C.{member}").state == state


def test_a_member_behind_an_unknown_base_is_present_but_not_sure() -> None:
    """A member of a base after an unknown one is present, and the unknown one may override it."""
    source = "import torch\nclass A:\n def x(self): ...\nclass C(torch.Other, A): ..."
    resolution = resolve(source, "C.x")
    assert (resolution.state, resolution.is_sure) == ("present", False)
    assert "torch.Other" in resolution.reason


def test_a_metaclass_may_provide_attributes() -> None:
    """A metaclass's methods are found on the class; one with `__new__` leaves other names open."""
    source = "class M(type):\n def on_class(cls): ...\nclass C(metaclass=M): ..."
    assert str(resolve(source, "C.on_class").defined) == "up:M.on_class"
    assert resolve(source, "C.nothing").state == "absent"
    with_new = source.replace("def on_class(cls)", "def __new__(cls, *a)")
    assert resolve(with_new, "C.nothing").state == "undecidable"


def test_how_a_class_with_an_unknown_base_is_called_is_not_told() -> None:
    """The base may have a `__new__`, and a metaclass, that take other arguments."""
    known = resolve("class C(Exception):\n    def __init__(self, a): ...\n", "C")
    assert str(known.signature) == "(a)"
    source = "from lib import Base\nclass C(Base):\n    def __init__(self, a): ...\n"
    assert resolve(source, "C").signature is None
    assert str(resolve(source, "C.__init__").signature) == "(self, a)"


def test_what_total_ordering_writes_is_not_sure() -> None:
    """A class gets the comparisons that it lacks, which are not those of `object`."""
    source = "import functools\n@functools.total_ordering\nclass C:\n"
    source += "    def __gt__(self, other): ...\n"
    assert not resolve(source, "C.__lt__").is_sure
    assert resolve(source, "C.__gt__").state == "present"


@pytest.mark.parametrize(
    ("decorator", "name"),
    [
        ("dataclass_transform()", "__dataclass_transform__"),
        ("deprecated('no', category=None)", "__deprecated__"),
        ("final", "__final__"),
        ("no_type_check", "__no_type_check__"),
        ("runtime_checkable", "_is_runtime_protocol"),
    ],
)
def test_what_decorators_of_typing_set_is_not_absent(decorator: str, name: str) -> None:
    """The class has it, and what derives from the class."""
    head = f"from typing_extensions import {decorator.partition('(')[0]}\n"
    without = f"{head}class B: ...\nclass C(B): ...\n"
    decorated = without.replace("class B", f"@{decorator}\nclass B")
    for asked in (f"B.{name}", f"C.{name}"):
        assert resolve(decorated, asked).state != "absent"
        assert resolve(without, asked).state != "present"
    if decorator != "runtime_checkable":  # which takes protocols alone
        namespace: dict[str, type] = {}
        exec(decorated, namespace)
        assert hasattr(namespace["C"], name)


def test_a_protocol_of_typing_extensions_is_not_that_of_typing() -> None:
    """Which of the two it is depends on the release of typing_extensions."""
    source = "from typing_extensions import Protocol\nclass C(Protocol): ...\n"
    found = resolve(source, "C.__init_subclass__")
    assert found.module == "typing_extensions"


def test_init_subclass_may_set_attributes() -> None:
    """What `__init_subclass__` of a base sets is not sure; a computed name leaves all open."""
    source = (
        "class B:\n def __init_subclass__(cls):\n  cls.tag = 1\n"
        "class C(B):\n tag = 0\n def run(self): ..."
    )
    assert not resolve(source, "C.tag").is_sure
    assert resolve(source, "C.run").is_sure
    assert resolve(source, "C.nothing").state == "absent"
    with_computed_name = source.replace("cls.tag = 1", "setattr(cls, f(), 1)")
    assert resolve(with_computed_name, "C.nothing").state == "undecidable"


def test_private_names_are_stored_mangled() -> None:
    """The member `__run` of a class `C` is present as `_C__run`, and absent as `__run`."""
    source = "class C:\n def __run(self): ..."
    assert resolve(source, "C._C__run").kind is Kind.METHOD
    assert resolve(source, "C.__run").state == "absent"


def test_what_a_decorator_sets_on_a_class_is_not_sure() -> None:
    """A member that a decorator of the release sets is not sure; the other members stay sure."""
    source = (
        "def deco(cls):\n def __init__(self, *a): ...\n cls.__init__ = __init__\n"
        " cls.__bases__ = cls.__bases__ + (Extra,)\n return cls\n"
        "class Extra:\n def more(self): ...\n"
        "@deco\nclass C:\n def __init__(self, a): ...\n def run(self): ..."
    )
    assert not resolve(source, "C.__init__").is_sure
    assert resolve(source, "C.run").is_sure
    assert str(resolve(source, "C.more").defined) == "up:Extra.more"
    assert resolve(source, "C.nothing").state == "absent"


@pytest.mark.parametrize(
    ("argument", "state"),
    [("obj.__doc__", "absent"), ("obj", "undecidable"), ("obj.x", "undecidable")],
)
def test_a_function_that_is_passed_the_docstring_sets_nothing(
    argument: str, state: str
) -> None:
    """A function that a decorator passes `obj.__doc__`, as Ray does, sets nothing on the class."""
    source = (
        "def indent(text):\n return len(text.splitlines())\n"
        f"def deco(obj):\n obj.__doc__ = ' ' * indent({argument})\n return obj\n"
        "@deco\nclass C:\n def run(self): ..."
    )
    assert resolve(source, "C.nothing").state == state
    assert resolve(source, "C.run").is_sure


FIELDS = program(__file__, "fields")


@pytest.mark.parametrize(
    ("qualname", "answer"),
    [
        ("Data.a", "field, no attribute"),
        ("Data.b", "field"),
        ("Data.c", "field, no attribute"),
        ("Data.d", "field"),
        ("Data.e", "constant"),
        ("Data.f", "constant"),
        ("Data.i", "field, not sure"),
        ("Data.none", "absent"),
        ("Data.__init__", "generated"),
        ("Data.__eq__", "undecidable"),
        ("Sub.b", "field"),
        ("Sub.c", "field, no attribute"),
        ("Slots.a", "field"),
        ("Slots.b", "field"),
        ("Checked.a", "field, no attribute"),
        ("Checked.b", "field"),
        ("Checked.c", "field, no attribute"),
        ("Checked.d", "field"),
        ("Model.a", "field, no attribute"),
        ("Model.b", "field, no attribute"),
        ("Model._p", "field"),
        ("Model.k", "constant"),
        ("Model.method", "method"),
        ("Model.model_dump", "outside the release"),
        ("Model.none", "absent"),
        ("Message.a", "field"),
        ("Row.a", "field"),
        ("Row._replace", "undecidable"),
        ("Keys.a", "field, no attribute"),
        ("Keys.b", "field, not sure"),
        ("MoreKeys.b", "field, not sure"),
        ("Colour.RED", "constant"),
        ("Colour.note", "absent"),
        ("Colour.shout", "method"),
        ("Colour.name", "outside the release"),
        ("Manual.a", "field"),
        ("Manual.c", "absent"),
        ("Duck.a", "absent"),
        ("Duck.quack", "method"),
        ("Pair", "class"),
        ("Pair.a", "field"),
        ("Level.LOW", "undecidable"),
    ],
)
def test_reads_fields(qualname: str, answer: str) -> None:
    """A field is found as one; whether it leaves an attribute depends on what makes the class."""
    resolution = resolve(FIELDS, qualname)
    is_present = resolution.state == "present"
    text = str(resolution.kind) if is_present else resolution.state
    if is_present and resolution.kind is Kind.FIELD and not resolution.is_sure:
        text += ", not sure"
    elif not resolution.variants[0].on_class:
        text += ", no attribute"
    assert text == answer


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("Slots", "(*, a, b=…)"),
        ("Checked", "(a, b=…, c=…, d=…)"),
    ],
)
def test_knows_the_constructors_of_fields(name: str, signature: str) -> None:
    """A constructor that is written by machinery takes the fields, those of bases first."""
    assert str(resolve(FIELDS, name).signature) == signature


def test_fields_of_bases_come_first() -> None:
    """An override keeps its place, and takes its own default; keyword-only ones come last."""
    source = """
    from dataclasses import dataclass, field, KW_ONLY
    @dataclass
    class A:
        a: int
        b: int
        _: KW_ONLY
        k: int = 1
        hidden: int = field(init=False)
    @dataclass
    class B(A):
        c: int
        b: int = 2
    """
    resolver = release(source.replace("\n    ", "\n").replace("c: int", "c: int = 0"))
    assert str(resolver.resolve(Target("up", "B")).signature) == "(a, b=…, c=…, *, k=…)"
    init = resolver.resolve(Target("up", "B.__init__"))
    assert (init.kind, str(init.signature)) == (
        Kind.GENERATED,
        "(self, a, b=…, c=…, *, k=…)",
    )


@pytest.mark.parametrize(
    ("source", "signature"),
    [
        ("class C:\n def __init__(self, a, b=1): ...", "(a, b=…)"),
        ("class C:\n def __new__(cls, a): ...", "None"),
        (
            "class C:\n def __new__(cls, *a, **k): ...\n def __init__(self, b): ...",
            "(b)",
        ),
        ("import x\nclass C(x.Y): ...", "None"),
        (
            "class M(type): ...\nclass C(metaclass=M):\n def __init__(self, a): ...",
            "None",
        ),
        (
            "import x\nclass B(x.Y):\n def __init__(self, a): ...\nclass C(B): ...",
            "None",
        ),
    ],
)
def test_knows_how_classes_are_called(source: str, signature: str) -> None:
    """A class has its `__init__`'s signature, or none where `__new__` or a base may decide it."""
    assert str(resolve(source, "C").signature) == signature


@pytest.mark.parametrize(
    "dotted",
    ["enum.Enum", "typing.Protocol", "abc.ABC"],
)
@pytest.mark.parametrize("name", ["_x", "x"])
def test_asks_the_standard_library(dotted: str, name: str) -> None:
    """Classes of the standard library are known by what this Python's have."""
    module, _, owner = dotted.partition(".")
    standard_class = getattr(sys.modules[module], owner)
    resolution = resolve(f"import {module}\nclass C({dotted}): ...", f"C.{name}")
    is_present = resolution.state == "present"
    assert is_present is hasattr(standard_class, name)


HELPERS = """
def mark(cls):
    cls.marked = 1
    return cls
def fill(cls, names):
    for name in names:
        setattr(cls, name, 1)
def look(cls): return cls.there
"""
EDITED = """
from .helpers import fill, look, mark
import elsewhere
class C:
    there = 1
    def own(self): ...
    @classmethod
    def add(cls): cls.added = 1
"""


@pytest.mark.parametrize(
    ("below", "name", "state"),
    [
        ("C.put = 1", "put", "undecidable"),
        ("setattr(C, 'put', 1)", "put", "undecidable"),
        ("setattr(C, name(), 1)", "put", "undecidable"),
        ("for n in f(): setattr(C, n, 1)", "put", "undecidable"),
        ("for each in (C, int): each.put = 1", "put", "undecidable"),
        ("mark(C)", "marked", "present"),
        ("fill(C, f())", "put", "undecidable"),
        ("look(C)", "put", "absent"),
        ("C.add()", "added", "undecidable"),
        ("elsewhere.register(C)", "put", "undecidable"),
        ("@elsewhere.of(C)\ndef f(): ...", "put", "undecidable"),
        ("isinstance(1, C)", "put", "absent"),
        ("elsewhere.register(C)", "own", "present"),
        ("def f(): C.put = 1", "put", "absent"),
    ],
)
def test_what_code_below_a_class_may_set_is_undecidable(
    below: str, name: str, state: str
) -> None:
    """What code at import sets on a class, or may have a function set, is undecidable."""
    assert resolve(EDITED + below, f"C.{name}", helpers=HELPERS).state == state


def test_what_is_set_again_is_not_sure() -> None:
    """A member of the class that code below it sets again is there, as one or the other."""
    resolution = resolve(EDITED + "C.own = 1", "C.own", helpers=HELPERS)
    assert (resolution.state, resolution.is_sure) == ("present", False)


def test_a_base_that_a_call_makes_leaves_attributes_undecidable() -> None:
    """A class may have any attribute if a call returns its base."""
    source = "Base = make()\nclass C(Base):\n    def own(self): ..."
    assert resolve(source, "C.own").state == "present"
    assert resolve(source, "C.other").state == "undecidable"


def test_the_bases_of_builtins_are_in_order() -> None:
    """A base of the release comes before what its own base has in common with another one."""
    source = "class A(Exception): ...\nclass B(A, TypeError): ..."
    resolution = resolve(source, "B.__new__")
    assert resolution.variants[0].dotted == "builtins.TypeError.__new__"


HASHED = """
import os
class Compared:
    def __eq__(self, other): ...
class Derived(Compared):
    pass
class Both(Compared):
    def __eq__(self, other): ...
    def __hash__(self): ...
class Again(Both):
    pass
class Perhaps:
    if os.environ.get("COMPARE"):
        def __eq__(self, other): ...
class Plain:
    pass
"""


@pytest.mark.parametrize(
    ("qualname", "state", "defined", "kind"),
    [
        ("Compared", "present", "up:Compared.__hash__", Kind.CONSTANT),
        ("Derived", "present", "up:Compared.__hash__", Kind.CONSTANT),
        ("Both", "present", "up:Both.__hash__", Kind.METHOD),
        ("Again", "present", "up:Both.__hash__", Kind.METHOD),
        ("Perhaps", "undecidable", None, None),
        ("Plain", "present", "builtins:object.__hash__", Kind.OUTSIDE),
    ],
)
def test_python_sets_hash_to_none_beside_a_comparison(
    qualname: str, state: str, defined: str | None, kind: Kind | None
) -> None:
    """A class that defines `__eq__` alone has None for its `__hash__`."""
    resolution = resolve(HASHED, f"{qualname}.__hash__")
    assert resolution.state == state
    if defined is not None:
        assert (str(resolution.defined), resolution.kind) == (defined, kind)
        assert resolution.is_sure


HASHED_BY_MACHINERY = """
from collections import namedtuple
from typing import NamedTuple
class Named(NamedTuple):
    field: int
    def __eq__(self, other): ...
class Derived(Named):
    def __eq__(self, other): ...
class OfCall(namedtuple("OfCall", "field")):
    def __eq__(self, other): ...
class Without(type):
    def __new__(cls, name, bases, body):
        body.pop("__eq__", None)
        return super().__new__(cls, name, bases, body)
class Left(metaclass=Without):
    def __eq__(self, other): ...
def make(name, bases, body):
    return type(name, bases, {})
class Made(metaclass=make):
    def __eq__(self, other): ...
class With(type):
    def __new__(cls, name, bases, body):
        body["__eq__"] = lambda self, other: True
        return super().__new__(cls, name, bases, body)
class Given(metaclass=With):
    pass
class Plain(type):
    pass
class Usual(metaclass=Plain):
    def __eq__(self, other): ...
"""


@pytest.mark.parametrize(
    ("qualname", "state"),
    [
        ("Named", "present"),
        ("Derived", "present"),
        ("OfCall", "present"),
        ("Left", "undecidable"),
        ("Made", "undecidable"),
        ("Given", "undecidable"),
        ("Usual", "present"),
    ],
)
def test_hash_where_others_see_the_body_first(
    qualname: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`NamedTuple` sets `__eq__` on the class once it is made; a metaclass may leave it out."""
    package = RealPackage(tmp_path, monkeypatch, impl=HASHED_BY_MACHINERY)
    resolution = package.resolve("impl", f"{qualname}.__hash__")
    assert resolution.state == state
    if state == "present":
        is_none = getattr(package.modules["impl"], qualname).__hash__ is None
        assert (resolution.kind is Kind.CONSTANT) is is_none


def test_a_nameless_base_that_a_metaclass_makes() -> None:
    """`class C(Meta("Base", (Root,), {}))` inherits what is in `Root`: nothing is absent."""
    source = """
    class Meta(type): ...
    class Root:
        def root(self): ...
    class C(Meta("Base", (Root,), {})):
        def own(self): ...
    """
    assert resolve(source, "C.own").state == "present"
    assert resolve(source, "C.root").state == "undecidable"
    assert resolve(source, "C.__init__").is_sure is False


def test_what_a_metaclass_stores_on_a_base_that_it_adds_is_not_sure() -> None:
    """Such as a `__repr__` that a dataclass would have; other special names are left alone."""
    source = (
        "class Meta(type):\n"
        "    def __new__(mcs, name, bases, namespace):\n"
        "        class Between: ...\n"
        "        made = super().__new__(mcs, name, (Between, *bases), namespace)\n"
        "        Between.__repr__ = lambda self: ''\n"
        "        return made\n"
        "class C(metaclass=Meta): ...\n"
    )
    assert not resolve(source, "C.__repr__").is_sure
    assert resolve(source, "C.__str__").is_sure


@pytest.mark.parametrize(
    ("annotation", "state"),
    [
        ("type[C]", "undecidable"),
        ("typing.ClassVar[int]", "undecidable"),
        ("ClassVar", "undecidable"),
        ("int", "absent"),
        ("list[type]", "absent"),
    ],
)
def test_what_is_declared_of_a_class_may_be_set_by_other_code(
    annotation: str, state: str
) -> None:
    """An attribute of instances is set by `__init__` or a caller, and no class has it."""
    source = f"class C:\n    kind: {annotation}\n    def run(self): return self.kind\n"
    assert resolve(source, "C.kind").state == state
