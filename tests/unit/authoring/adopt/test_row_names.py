from __future__ import annotations

import pytest

from patchkit.authoring.adopt.row_names import body_word, unused


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
    """Numbers follow one another, behind what the name itself is written with."""
    assert unused(name, names) == expected


@pytest.mark.parametrize(
    ("module", "base", "expected"),
    [
        ("pile.models.patch_llama", "pile", "models_llama"),
        ("pile", "pile", "pile"),
        ("pile._Patch", "pile", "patch"),
    ],
)
def test_the_word_of_a_body(module: str, base: str, expected: str) -> None:
    """It is what lies behind the common package, in small letters."""
    assert body_word(module, base) == expected
