from __future__ import annotations

import pickle

import pytest

from patchkit import errors
from patchkit.errors import DeclarationError, PatchkitError

ERRORS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, Exception)
]


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_patchkits_and_nothing_that_upstream_swallows(
    error: type[Exception],
) -> None:
    """`except PatchkitError` catches all; `except ImportError` and AttributeError catch none."""
    assert issubclass(error, PatchkitError)
    assert not issubclass(error, (ImportError, AttributeError))


def test_a_declaration_error_names_all_five() -> None:
    """The message holds pack, patch, field, found and expected."""
    error = DeclarationError("my.pack", "my-patch", "roles", "nothing", "a role")
    assert (
        str(error)
        == "pack my.pack, patch 'my-patch', roles: found nothing, expected a role"
    )


def test_a_fault_of_the_pack_names_no_patch() -> None:
    """Where the fault is the pack's, no patch is blamed."""
    error = DeclarationError("my.pack", None, "PATCHES", "nothing", "a tuple")
    assert str(error) == "pack my.pack, PATCHES: found nothing, expected a tuple"


def test_a_declaration_error_survives_pickling() -> None:
    """It crosses from a worker to its engine whole."""
    error = DeclarationError("my.pack", "my-patch", "roles", "nothing", "a role")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
