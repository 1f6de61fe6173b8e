"""The table of holders: what can hold a target, or what is built of it, and what becomes of it.

Each row of docs/rebinding.md that names a holder is the `page` of a row here. What torch.jit
holds is in tests/e2e/test_torch_script.py, as it needs torch.
"""

from __future__ import annotations

from typing import NamedTuple

# `f` is wrapped, the class `C` and the pydantic `Model` are replaced, `D` and `P` get a field.
UPSTREAM = """
import dataclasses, pydantic
def f(): return 'old'
class C:
    word = 'old'
@dataclasses.dataclass
class D:
    a: int = 1
@pydantic.dataclasses.dataclass
class P:
    a: int = 1
class Model(pydantic.BaseModel):
    word: str = 'old'
"""
BODY = """
from up import impl
def f(wrapped, instance, args, kwargs): return 'new'
class C(impl.C):
    word = 'new'
class Model(impl.Model):
    word: str = 'new'
"""
CHANGES = {
    "f": "Wrap('up.impl:f', by='f')",
    "C": "Replace('up.impl:C', by='C')",
    "D": "AddField('up.impl:D', 'added', 'int', default=7)",
    "P": "AddField('up.impl:P', 'added', 'int', default=7)",
    "Model": "Replace('up.impl:Model', by='Model')",
}
IMPORTS = """
import collections, functools, types, typing, msgspec, pydantic
from pydantic import TypeAdapter, validate_call
from up.impl import C, D, P, Model, f
def told(made): return 'new' if hasattr(made, 'added') else 'old'
"""
LATE = {"added": 3}


class HolderRow(NamedTuple):
    """One way to hold something.

    Args:
        target: what is held.
        source: code of a module that holds it.
        use: what gives 'old' or 'new' through it.
        reported: how it is named where it was there before the patch; "" where it follows.
        page: the first column of the page's row.
    """

    target: str
    source: str
    use: str
    reported: str = ""
    page: str = ""


_DEFAULT = "a parameter's default"
_CLOSURE = "a closure"
_METHOD = (
    "a static or class method, property, bound method or partial of it, "
    "or a partial with it as an argument"
)
_CONTAINER = "a container, one level deep"
_KEY = "a key that is not repointed"
_ATTRIBUTE = "an attribute or slot of an object, an `lru_cache` of it"
_INSIDE = "the function taken out of a static or class method or a property"
_ALIAS = "an alias with a class in it"
_HEIR = "a class that derives from a replaced one"
_FIELD = "a pydantic class with a field of a replaced one"
_ADAPTER = "an adapter or a validated function of a replaced one"
_READ = "a msgspec decoder or struct of a class with an added field"

ROWS = {
    # -- repointed ----------------------------------------------------------------------------
    "a global": HolderRow("f", "kept = f", "kept()"),
    "a class attribute": HolderRow("f", "class A:\n    kept = f", "vars(A)['kept']()"),
    "a key": HolderRow("f", "kept = {f: 1}", "next(iter(kept))()"),
    # -- functions ----------------------------------------------------------------------------
    "a default": HolderRow(
        "f", "def g(x=f): return x()", "g()", "up.{}:g (default of x)", _DEFAULT
    ),
    "a keyword's default": HolderRow(
        "f", "def g(*, x=f): return x()", "g()", "up.{}:g (default of x)", _DEFAULT
    ),
    "a closure": HolderRow(
        "f", "g = (lambda x: lambda: x())(f)", "g()", "up.{}:g (closure x)", _CLOSURE
    ),
    "a dispatcher": HolderRow(
        "f", "@functools.singledispatch\ndef g(x): ...\ng.register(int, lambda _: f())", "g(1)"
    ),
    "a registered function": HolderRow(
        "f", "@functools.singledispatch\ndef g(x): ...\ng.register(int, f)",
        "g.dispatch(int)()", "up.{}:g (closure dispatch)", _CLOSURE,
    ),
    # -- methods ------------------------------------------------------------------------------
    "a static method": HolderRow(
        "f", "class A:\n    s = staticmethod(f)", "A.s()", "up.{}:A.s (staticmethod)", _METHOD
    ),
    "a class method": HolderRow(
        "f", "class A:\n    s = classmethod(f)", "vars(A)['s'].__func__()",
        "up.{}:A.s (classmethod)", _METHOD,
    ),
    "a property": HolderRow(
        "f", "class A:\n    s = property(f)", "A.s.fget()", "up.{}:A.s (property)", _METHOD
    ),
    "a cached property": HolderRow(
        "f", "class A:\n    s = functools.cached_property(f)", "vars(A)['s'].func()",
        "up.{}:A.s (cached_property)", _METHOD,
    ),
    "a partial method": HolderRow(
        "f", "class A:\n    s = functools.partialmethod(f)", "vars(A)['s'].func()",
        "up.{}:A.s (partialmethod)", _METHOD,
    ),
    "a bound method": HolderRow(
        "f", "g = types.MethodType(f, 1)", "g.__func__()", "up.{}:g (method)", _METHOD
    ),
    "a partial": HolderRow(
        "f", "g = functools.partial(f)", "g()", "up.{}:g (partial)", _METHOD
    ),
    "a partial that is given it": HolderRow(
        "f", "g = functools.partial(lambda x: x(), f)", "g()", "up.{}:g (partial)", _METHOD
    ),
    # -- containers ---------------------------------------------------------------------------
    "a dict": HolderRow("f", "kept = {'k': f}", "kept['k']()", "up.{}:kept['k']", _CONTAINER),
    "an ordered dict": HolderRow(
        "f", "kept = collections.OrderedDict(k=f)", "kept['k']()", "up.{}:kept['k']", _CONTAINER
    ),
    "a default dict": HolderRow(
        "f", "kept = collections.defaultdict(int, k=f)", "kept['k']()", "up.{}:kept['k']",
        _CONTAINER,
    ),
    "a list": HolderRow("f", "kept = [f]", "kept[0]()", "up.{}:kept[0]", _CONTAINER),
    "a tuple": HolderRow("f", "kept = (f,)", "kept[0]()", "up.{}:kept[0]", _CONTAINER),
    "a named tuple": HolderRow(
        "f", "kept = collections.namedtuple('N', 'x')(f)", "kept.x()", "up.{}:kept[0]", _CONTAINER
    ),
    "a set": HolderRow("f", "kept = {f}", "[*kept][0]()", "up.{}:kept (a member)", _CONTAINER),
    "a frozen set": HolderRow(
        "f", "kept = frozenset([f])", "[*kept][0]()", "up.{}:kept (a member)", _CONTAINER
    ),
    "a deque": HolderRow(
        "f", "kept = collections.deque([f])", "kept[0]()", "up.{}:kept[0]", _CONTAINER
    ),
    "a mapping proxy": HolderRow(
        "f", "kept = types.MappingProxyType({'k': f})", "kept['k']()", "up.{}:kept['k']", _CONTAINER
    ),
    "a key of a proxy": HolderRow(
        "f", "kept = types.MappingProxyType({f: 1})", "[*kept][0]()", "up.{}:kept (a key)", _KEY
    ),
    "a key of an ordered dict": HolderRow(
        "f", "kept = collections.OrderedDict([(f, 1)])", "[*kept][0]()", "up.{}:kept (a key)", _KEY
    ),
    # -- objects ------------------------------------------------------------------------------
    "an attribute": HolderRow(
        "f", "class A: ...\nkept = A()\nkept.x = f", "kept.x()", "up.{}:kept.x", _ATTRIBUTE
    ),
    "a namespace": HolderRow(
        "f", "kept = types.SimpleNamespace(x=f)", "kept.x()", "up.{}:kept.x", _ATTRIBUTE
    ),
    "a slot": HolderRow(
        "f", "class A:\n    __slots__ = ('x',)\nkept = A()\nkept.x = f", "kept.x()",
        "up.{}:kept.x", _ATTRIBUTE,
    ),
    "a slot of a base": HolderRow(
        "f", "class B:\n    __slots__ = ('x',)\nclass A(B): ...\nkept = A()\nkept.x = f",
        "kept.x()", "up.{}:kept.x", _ATTRIBUTE,
    ),
    "a struct of msgspec": HolderRow(
        "f", "class A(msgspec.Struct):\n    x: object\nkept = A(f)", "kept.x()", "up.{}:kept.x",
        _ATTRIBUTE,
    ),
    "a cache": HolderRow(
        "f", "kept = functools.lru_cache(f)", "kept()", "up.{}:kept.__wrapped__", _ATTRIBUTE
    ),
    # -- types --------------------------------------------------------------------------------
    "a built-in alias": HolderRow(
        "C", "kept = list[C]", "typing.get_args(kept)[0].word", "up.{}:kept (type alias)", _ALIAS
    ),
    "a union": HolderRow(
        "C", "kept = C | None", "typing.get_args(kept)[0].word", "up.{}:kept (type alias)", _ALIAS
    ),
    "an option": HolderRow(
        "C", "kept = typing.Optional[C]", "typing.get_args(kept)[0].word",
        "up.{}:kept (type alias)", _ALIAS,
    ),
    "an annotated type": HolderRow(
        "C", "kept = typing.Annotated[C, 1]", "typing.get_args(kept)[0].word",
        "up.{}:kept (type alias)", _ALIAS,
    ),
    "a callable's type": HolderRow(
        "C", "kept = typing.Callable[[C], int]", "typing.get_args(kept)[0][0].word",
        "up.{}:kept (type alias)", _ALIAS,
    ),
    "a subclass": HolderRow(
        "C", "class A(C): ...", "A.word", "up.{}:A (derives from it)", _HEIR
    ),
    # -- what is built of a class -------------------------------------------------------------
    "a model with a field": HolderRow(
        "P", "class A(pydantic.BaseModel):\n    x: P", f"told(A(x={LATE}).x)"
    ),
    "a model with a field of a standard one": HolderRow(
        "D", "class A(pydantic.BaseModel):\n    x: D", f"told(A(x={LATE}).x)"
    ),
    "an adapter": HolderRow(
        "P", "kept = TypeAdapter(P)", f"told(kept.validate_python({LATE}))"
    ),
    "an adapter of a list": HolderRow(
        "D", "kept = TypeAdapter(list[D])", f"told(kept.validate_python([{LATE}])[0])"
    ),
    "a method of an adapter": HolderRow(
        "P", "kept = TypeAdapter(P).validate_python", f"told(kept({LATE}))"
    ),
    "a validated function": HolderRow(
        "P", "@validate_call\ndef g(x: P): return x", f"told(g({LATE}))"
    ),
    "a dataclass that msgspec has read": HolderRow(
        "D", f"msgspec.convert({LATE}, D)", f"told(msgspec.convert({LATE}, D))"
    ),
    "a typed dict that msgspec has read": HolderRow(
        "D", f"class A(typing.TypedDict):\n    x: D\nmsgspec.convert({{'x': {LATE}}}, A)",
        f"told(msgspec.convert({{'x': {LATE}}}, A)['x'])",
    ),
    "a decoder": HolderRow(
        "D", "kept = msgspec.json.Decoder(D)", "told(kept.decode(b'{\"added\": 3}')) if "
        "kept.decode(b'{\"added\": 3}').__dict__.get('added') == 3 else 'old'",
        "msgspec.json.Decoder(<class 'up.impl.D'>)", _READ,
    ),
    "a struct": HolderRow(
        "D", "class A(msgspec.Struct):\n    x: D\nmsgspec.convert({'x': {}}, A)",
        "'new' if vars(msgspec.convert({'x': {'added': 3}}, A).x).get('added') == 3 else 'old'",
        "up.{}:A (read by msgspec)", _READ,
    ),
    "a field of a replaced class": HolderRow(
        "Model", "class A(pydantic.BaseModel):\n    x: Model", "A(x={}).x.word",
        "up.{}:A (has a field of it)", _FIELD,
    ),
    "an adapter of a replaced class": HolderRow(
        "Model", "kept = TypeAdapter(list[Model])", "kept.validate_python([{}])[0].word",
        "TypeAdapter(list[Model]) of up.{}", _ADAPTER,
    ),
    "a function that takes a replaced class": HolderRow(
        "Model", "@validate_call\ndef g(x: Model): return x", "g({}).word",
        "up.{}:g (validate_call)", _ADAPTER,
    ),
}  # fmt: skip

# Rows of the page that tell where something is, not what holds it.
OTHER_PAGE_ROWS = {
    "a copy in another package",
    "a copy in a pack",
    "the same object, in scope, if the code does not show its origin (`setattr`, a call)",
    "a place that cannot be written",
    "a function that torch.jit has compiled, or whose caller it has compiled",
    _INSIDE,
}
