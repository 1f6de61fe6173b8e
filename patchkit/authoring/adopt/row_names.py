"""Makes names for the bodies and the rows of a pile."""

from collections.abc import Collection


def unused(name: str, names: Collection[str]) -> str:
    """Return a name, with a number behind it if it is taken.

    Args:
        name: The name.
        names: The names that are taken.
    """
    separator = "_"
    if "-" in name:
        separator = "-"
    unused = name
    number = 2
    while unused in names:
        unused = f"{name}{separator}{number}"
        number += 1
    return unused


def body_word(module: str, base: str) -> str:
    """Return a name for the body of a module: what is behind the common package, without `patch_`.

    Args:
        module: The dotted name of the module.
        base: The common package.
    """
    parts = module.removeprefix(base).strip(".").split(".")
    word = "_".join(part.removeprefix("patch_").strip("_") for part in parts).lower()
    return word or "pile"
