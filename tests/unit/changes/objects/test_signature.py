from __future__ import annotations

from typing import Any

import pytest

from patchkit.changes.objects.refusals import refused_call


def of(source: str) -> Any:
    """Make a function from its parameters."""
    return eval(f"lambda {source}: None")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a, b", "a, b"),
        ("a, b", "x, y"),
        ("a, b", "*args"),
        ("a, b=1", "a, b=2, c=3"),
        ("a, *, k", "a, *, k, other=1"),
        ("a, *, k", "*args, **kwargs"),
        ("a, *args, **kwargs", "a"),
        ("", ""),
    ],
)
def test_what_can_be_called_alike(old: str, new: str) -> None:
    """Names by position, further defaults and open arguments are no fault."""
    assert refused_call(of(old), of(new)) is None


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("a, b", "a", "too many positional arguments"),
        ("a", "a, b", "missing a required argument: 'b'"),
        ("a, b=1", "a, b", "missing a required argument: 'b'"),
        ("a, b=1", "a", "too many positional arguments"),
        ("a, *, k=1", "a", "unexpected keyword argument 'k'"),
        ("a", "a, *, k", "missing a required"),
    ],
)
def test_what_cannot(old: str, new: str, fault: str) -> None:
    """The fault names both signatures and what is wrong."""
    found = refused_call(of(old), of(new))
    assert found is not None
    assert fault in found
    assert f"takes ({new})" in found


def test_methods_of_every_kind() -> None:
    """Descriptors are compared by the function in them; what has no signature is let pass."""
    one, two = of("a"), of("a, b")
    assert refused_call(staticmethod(one), staticmethod(two))
    assert refused_call(classmethod(one), classmethod(two))
    assert refused_call(property(one), property(two))
    assert refused_call(len, two) is None
    assert refused_call(one, object()) is None
