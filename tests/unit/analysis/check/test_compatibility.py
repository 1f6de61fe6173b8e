from __future__ import annotations

import ast
import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from patchkit.analysis.check.compatibility import refused_call, refused_wrapper_call
from patchkit.analysis.upstream.resolving.syntax import Signature, signature_of


def signature(text: str) -> Signature:
    """The signature of a function with these parameters."""
    function = ast.parse(f"def f({text}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return signature_of(function.args)


@pytest.mark.parametrize(
    ("theirs", "ours", "reason"),
    [
        ("a, b", "a, b", ""),
        ("a, b", "a, b, c=1", ""),
        ("a, b", "*args, **kwargs", ""),
        ("a, b", "a, *args, **kwargs", ""),
        ("a, /, b", "x, b", ""),
        ("*, k", "k", ""),
        ("a, b", "a", "too many positional arguments"),
        ("a, b=1", "a, b", "missing a required argument: 'b'"),
        ("a", "a, b", "missing a required argument: 'b'"),
        ("a", "x", "missing a required argument: 'x'"),
        ("a", "x=1", "unexpected keyword argument 'a'"),
        ("a", "a, /", "'a'"),
        ("a, b", "b, a", "arrives as"),
        ("b=0, d=0", "b=0, a=0, *, d=0", "'d' arrives as 'a'"),
        ("a, /, b", "x, b, a=0", ""),
        ("a, *rest", "a", "too many positional arguments"),
        ("a, **more", "a", "unexpected keyword argument 'more_keywords'"),
        ("k", "*, k", "too many positional arguments"),
    ],
)
def test_finds_a_call_that_is_refused(theirs: str, ours: str, reason: str) -> None:
    """Each way in which callers may pass an argument has to be taken, and to arrive."""
    refused = refused_call(signature(theirs), signature(ours))
    if reason:
        assert refused is not None
        assert reason in refused
    else:
        assert refused is None


NAMES = st.lists(st.sampled_from("abcd"), unique=True, max_size=3)


@st.composite
def parameters(draw: st.DrawFn) -> str:
    """Up to three parameters, of which the last may have defaults or be keyword-only."""
    names = draw(NAMES)
    first_default = draw(st.integers(0, len(names)))
    parts = [
        f"{name}=0" if position >= first_default else name
        for position, name in enumerate(names)
    ]
    star = draw(st.integers(0, len(parts)))
    if star < len(parts):
        parts.insert(star, "*")
    return ", ".join(parts)


@given(parameters(), parameters())
@example("b=0, d=0", "b=0, a=0, *, d=0")
def test_agrees_with_python(theirs: str, ours: str) -> None:
    """If no refused call is found, Python takes each call of `theirs` for `ours`, too."""
    if refused_call(signature(theirs), signature(ours)) is not None:
        return
    namespace: dict[str, object] = {}
    exec(f"def f({theirs}): return locals()\ndef g({ours}): return locals()", namespace)
    for count in range(4):
        for size in range(4):
            for names in itertools.combinations("abcd", size):
                args, kwargs = list(range(count)), dict.fromkeys(names, 9)
                try:
                    passed = namespace["f"](*args, **kwargs)  # type: ignore[operator]
                except TypeError:
                    continue
                received = namespace["g"](*args, **kwargs)  # type: ignore[operator]
                assert passed.items() <= {**passed, **received}.items()


def test_a_wrapper_takes_four_arguments() -> None:
    """A wrapper has to take `wrapped, instance, args, kwargs` by position."""
    assert refused_wrapper_call(signature("wrapped, instance, args, kwargs")) is None
    assert refused_wrapper_call(signature("*all")) is None
    assert (
        refused_wrapper_call(signature("wrapped, *, instance, args, kwargs"))
        is not None
    )
    assert refused_wrapper_call(signature("a, b")) is not None
