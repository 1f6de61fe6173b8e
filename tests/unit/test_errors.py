from __future__ import annotations

import pickle

import pytest

from patchkit import errors
from patchkit.errors import DeclarationError, PatchkitError, some_of

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


def test_the_message_of_a_declaration_error_holds_its_five_attributes() -> None:
    """The message holds pack, patch, field, found and expected."""
    error = DeclarationError("my.pack", "my-patch", "roles", "nothing", "a role")
    assert (
        str(error)
        == "pack my.pack, patch 'my-patch', roles: found nothing, expected a role"
    )


def test_a_fault_of_the_pack_names_no_patch() -> None:
    """The message of a DeclarationError without a patch names only the pack and the field."""
    error = DeclarationError("my.pack", None, "PATCHES", "nothing", "a tuple")
    assert str(error) == "pack my.pack, PATCHES: found nothing, expected a tuple"


def test_a_declaration_error_survives_pickling() -> None:
    """A DeclarationError that was pickled, as by a worker, has the same message and attributes."""
    error = DeclarationError("my.pack", "my-patch", "roles", "nothing", "a role")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("core-lop", "core-loop, a1, a2, a3, a4 and 2 more"),
        ("", "a1, a2, a3, a4, a5 and 2 more"),
    ],
)
def test_few_of_many_words_are_named(word: str, text: str) -> None:
    """Words that are like the one in question come first, five are named, the rest is counted."""
    words = [*(f"a{number}" for number in range(1, 7)), "core-loop"]
    assert some_of(words, word) == text


def test_all_of_few_words_are_named() -> None:
    """Up to five words are named, in their order; of none, that is said."""
    assert some_of(["b", "a"], "x") == "b, a"
    assert some_of([]) == "none"
