"""What decorators leave of a signature, of a kind, and of what a class may hold."""

from __future__ import annotations

import inspect

import pytest

from analysis.upstream.memory import resolve
from patchkit.analysis.upstream.resolving.values import Kind

# As Ray writes `PublicAPI`: with or without options, and a function of the module does the work.
ARGS = """
def api(*args, **kwargs):
    if len(args) == 1 and len(kwargs) == 0 and callable(args[0]):
        return api(level="stable")(args[0])
    level = kwargs.get("level", "stable")
    def wrap(obj):
        mark(obj)
        return obj
    return wrap
def mark(obj):
    obj.marked = obj.__name__
"""
CAST = """
from functools import wraps
from typing import cast
def api(func):
    @wraps(func)
    def wrapper(*args, **kwargs): return func(*args, **kwargs)
    return cast(F, wrapper)
"""
DEPRECATED = """
from functools import wraps
def api(*, warning=False):
    def inner(obj):
        if not warning:
            return obj
        def wrapper(*args, **kwargs): return obj(*args, **kwargs)
        if callable(obj):
            wrapper = wraps(obj)(wrapper)
        return wrapper
    return inner
"""
MODULE = """
def api(module):
    def decorator(func):
        if module is not None:
            func.__module__ = module
        return func
    return decorator
"""
FUNCTION = "{}\n@{}\ndef f(a, *, b=1): ..."
USES = [
    (ARGS, "api"),
    (ARGS, "api(level='beta')"),
    (CAST, "api"),
    (DEPRECATED, "api()"),
    (MODULE, "api('up')"),
    ("from typing_extensions import deprecated", "deprecated('since 2')"),
    ("from warnings import deprecated", "deprecated('since 2')"),
]


@pytest.mark.parametrize(("source", "use"), USES)
def test_a_decorator_that_leaves_the_signature_is_read(source: str, use: str) -> None:
    """A decorator that returns the function, or a wrapper by `wraps`, keeps kind and signature."""
    resolution = resolve(FUNCTION.format(source, use), "f")
    assert (str(resolution.kind), str(resolution.signature)) == (
        "function",
        "(a, *, b=…)",
    )


OTHERWISE = """
def api(func):
    if fast:
        register(func)
    else:
        return partial(func, 1)
    return func
"""
CASE = """
def api(func):
    match speed:
        case 1:
            return partial(func, 1)
    return func
"""


@pytest.mark.parametrize(
    ("source", "use"),
    [
        (OTHERWISE, "api"),
        (CASE, "api"),
        (CAST.replace("@wraps(func)", ""), "api"),
        (CAST.replace("@wraps(func)", "@wraps(other)"), "api"),
        (ARGS.replace("return obj", "return partial(obj, 1)"), "api"),
        (ARGS.replace("(args[0])\n", "(other)\n"), "api"),
        (DEPRECATED.replace("wraps(obj)(wrapper)", "other(obj)"), "api()"),
        ("import out", "out.side"),
    ],
)
def test_any_other_decorator_leaves_no_signature(source: str, use: str) -> None:
    """An object that may take other arguments than the function has no signature."""
    resolution = resolve(FUNCTION.format(source, use), "f")
    assert (resolution.state, resolution.is_sure, resolution.signature) == (
        "present",
        False,
        None,
    )


@pytest.mark.parametrize(
    ("source", "use"),
    [
        *USES[:2],
        ("import attr", "attr.s"),
        ("import attrs", "attrs.define(slots=False)"),
        USES[-1],
    ],
)
def test_a_class_below_such_a_decorator_stays_a_class(source: str, use: str) -> None:
    """An attribute that the class does not define is absent, so that it can be added."""
    text = f"{source}\n@{use}\nclass C:\n def f(self): ...\n"
    resolution = resolve(text, "C")
    assert (str(resolution.kind), resolution.is_sure) == ("class", True)
    assert resolve(text, "C.f").is_sure
    assert resolve(text, "C.other").state == "absent"


def test_what_a_decorator_sets_on_a_class_is_undecidable() -> None:
    """The constructor that attrs writes and an attribute that a decorator sets are undecidable."""
    constructor = resolve("import attr\n@attr.s\nclass C: ...", "C.__init__")
    assert constructor.state == "undecidable"
    attribute = resolve(f"{ARGS}\n@api\nclass C: ...", "C.marked")
    assert attribute.state == "undecidable"


WRAPPER = """
import functools
def deco(f):
    @functools.wraps(f)
    def wrapper({takes}):
        return f(*args, **kwargs)
    return wrapper
def outer(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)
    return wrapper
class C:
    @outer
    @deco
    def run(self, a, b=1): ...
"""
CALLS: list[tuple[list[object], dict[str, object]]] = [
    ([0, 1], {}),
    ([0, 1, 2], {}),
    ([0, 1, 2, 3], {}),
    ([0], {"a": 1}),
    ([0], {"b": 1}),
    ([0, 1], {"extra": 1}),
]


@pytest.mark.parametrize(
    ("takes", "is_told"),
    [
        ("*args, **kwargs", True),
        ("self, *args, **kwargs", True),
        ("self, a, *args, **kwargs", True),
        ("self, a, b=1", True),
        ("extra, *args, **kwargs", False),
        ("*args, extra=None, **kwargs", False),
        ("*args", False),
        ("self, a", False),
        ("self, /, *args, **kwargs", True),
        ("self, a, /, *args, **kwargs", False),
    ],
)
def test_a_wrapper_with_parameters_of_its_own_has_no_sure_signature(
    takes: str, is_told: bool
) -> None:
    """What is told is taken by the real wrapper: a call that binds to it binds to the wrapper."""
    source = WRAPPER.format(takes=takes)
    resolution = resolve(source, "C.run")
    assert resolution.state == "present"
    assert resolution.is_sure
    assert (resolution.signature is not None) is is_told
    space: dict[str, object] = {}
    exec(source, space)
    wrapper = inspect.getattr_static(space["C"], "run").__wrapped__
    real = inspect.signature(wrapper, follow_wrapped=False)
    for arguments, options in CALLS if is_told else ():
        if _binds(resolution.signature, arguments, options):
            assert _binds(real, arguments, options)


def _binds(
    signature: inspect.Signature | None,
    arguments: list[object],
    options: dict[str, object],
) -> bool:
    assert signature is not None
    try:
        signature.bind(*arguments, **options)
    except TypeError:
        return False
    return True


def test_decorators_of_mypy_leave_classes_as_they_are() -> None:
    """Only mypyc looks at `trait` and `mypyc_attr`."""
    source = (
        "from mypy_extensions import mypyc_attr, trait\n"
        "@trait\n@mypyc_attr(native_class=True)\nclass C: ..."
    )
    assert resolve(source, "C.nothing").state == "absent"


@pytest.mark.parametrize(
    ("decorator", "parameter", "kind"),
    [
        ("pydantic.model_validator(mode='before')", "cls", Kind.CLASSMETHOD),
        ("pydantic.root_validator(pre=True)", "cls", Kind.CLASSMETHOD),
        ("pydantic.model_validator(mode='after')", "self", Kind.METHOD),
        ("pydantic.model_serializer", "cls", Kind.METHOD),
    ],
)
def test_validators_of_pydantic_are_class_methods(
    decorator: str, parameter: str, kind: Kind
) -> None:
    """One is made of a function whose first parameter is `cls`."""
    source = (
        "import pydantic\nclass K(pydantic.BaseModel):\n"
        f" @{decorator}\n def f({parameter}, values): ..."
    )
    assert resolve(source, "K.f").kind is kind


def test_a_decorator_that_makes_dataclasses_sets_nothing_else() -> None:
    """As `@config` of vLLM; of one that does not say that it makes them, nothing is known."""
    source = (
        "from lib import dataclass_transform\nfrom pydantic.dataclasses import dataclass\n"
        "@dataclass_transform()\n"
        "def config(cls, **options):\n"
        "    def decorator(cls):\n"
        "        return dataclass(cls, **options)\n"
        "    return decorator(cls)\n"
        "@config\nclass A:\n    n: int = 0\n"
    )
    assert resolve(source, "A.nothing").state == "absent"
    assert resolve(source, "A.n").kind is Kind.FIELD
    without = source.replace("@dataclass_transform()\n", "")
    assert resolve(without, "A.nothing").state == "undecidable"
