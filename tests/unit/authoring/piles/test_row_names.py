"""Names of adopted rows and of their bodies."""

from __future__ import annotations

import pytest

from patchkit.authoring.piles.row_names import body_word, unused


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("lib-c", [], "lib-c"),
        ("lib-c", ["lib-c"], "lib-c-2"),
        ("lib-c", ["lib-c", "lib-c-2"], "lib-c-3"),
        ("lib_c", ["lib_c", "lib_c_2", "lib_c_4"], "lib_c_3"),
    ],
)
def test_a_name_that_is_taken_gets_the_next_number(
    name: str, names: list[str], expected: str
) -> None:
    """It is the first that is free, joined to the name as the name itself is written."""
    assert unused(name, names) == expected


@pytest.mark.parametrize(
    ("module", "base", "expected"),
    [
        ("pile.models.patch_llama", "pile", "models_llama"),
        ("pile", "pile", "pile"),
        ("pile._Patch", "pile", "patch"),
    ],
)
def test_a_body_is_named_after_its_module(
    module: str, base: str, expected: str
) -> None:
    """The name leaves out the common package and `patch_`, and has small letters."""
    assert body_word(module, base) == expected
