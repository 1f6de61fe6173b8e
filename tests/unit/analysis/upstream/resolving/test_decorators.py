"""What decorators leave of a signature, of a kind, and of what a class may hold."""

from __future__ import annotations

import pytest

from analysis.upstream.memory import resolve

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
