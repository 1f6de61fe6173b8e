"""Signatures that are read from source, compared with those of `inspect`."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.analysis.upstream.resolving.syntax import (
    Signature,
    parameter,
    signature_of,
)

NAMES = st.lists(
    st.sampled_from([f"p{number}" for number in range(12)]), unique=True, max_size=8
)


@st.composite
def definitions(draw: st.DrawFn) -> str:
    """The head of a function, with any mixture of parameters."""
    names = draw(NAMES)
    positional_count = draw(st.integers(0, len(names)))
    positional_only_count = draw(st.integers(0, positional_count))
    required_count = draw(st.integers(0, positional_count))
    keyword_names = names[positional_count:]
    parameters = names[:required_count]
    for name in names[required_count:positional_count]:
        parameters.append(f"{name}: int = 1")
    if positional_only_count:
        parameters.insert(positional_only_count, "/")
    if draw(st.booleans()):
        parameters.append("*args")
    elif keyword_names:
        parameters.append("*")
    for name in keyword_names:
        parameters.append(name + draw(st.sampled_from(["", "=None"])))
    if draw(st.booleans()):
        parameters.append("**kwargs")
    return ", ".join(parameters)


def inspected(function: Any) -> Signature:
    """Return the signature that `inspect` gives, as far as it is compared."""
    return Signature(
        parameter(argument.name, argument.kind, argument.default is not argument.empty)
        for argument in inspect.signature(function).parameters.values()
    )


@given(definitions())
def test_reads_what_python_reads(head: str) -> None:
    """The static signature of any function is the one that `inspect` gives."""
    text = f"def f({head}): ..."
    node: Any = ast.parse(text).body[0]
    space: dict[str, Any] = {}
    exec(text, space)
    assert signature_of(node.args) == inspected(space["f"])


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("", "()"),
        ("a, /, b, *, c=1, **d", "(a, /, b, *, c=…, **d)"),
        ("a=1, /", "(a=…, /)"),
        ("*a, b", "(*a, b)"),
    ],
)
def test_is_written_like_python(head: str, text: str) -> None:
    """Markers stand where they do in source; defaults are an ellipsis."""
    node: Any = ast.parse(f"def f({head}): ...").body[0]
    assert str(signature_of(node.args)) == text


def test_a_bound_method_lacks_its_first_parameter() -> None:
    """Binding drops `self`, and nothing if there is no positional parameter."""
    node: Any = ast.parse("def f(self, a): ...").body[0]
    assert str(signature_of(node.args).bound()) == "(a)"
    node = ast.parse("def f(*args): ...").body[0]
    assert str(signature_of(node.args).bound()) == "(*args)"


def test_equal_data_gives_the_same_signature_object() -> None:
    """`of_data` returns one object for equal data, as most releases have the same signatures."""
    data = [("a", 1, False), ("b", 3, True)]
    data_of_lists = [list(fields) for fields in data]
    assert Signature.of_data(data) is Signature.of_data(data_of_lists)
    assert Signature.of_data(data) is not Signature.of_data(data[:1])
    assert Signature.of_data(data).as_data() == data
