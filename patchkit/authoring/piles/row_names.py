"""Makes names for the bodies and the rows of a pile."""

import re
from collections.abc import Collection, Iterable


def unused(name: str, names: Iterable[str]) -> str:
    """Return a name that is not taken: the name itself, or with a number, such as `lib_2`.

    Args:
        name: The name that is wanted.
        names: The names that are taken.
    """
    # Names of rows have hyphens, names of bodies underscores.
    separator = "_"
    if "-" in name:
        separator = "-"
    taken = set(names)
    free_name = name
    number = 2
    while free_name in taken:
        free_name = f"{name}{separator}{number}"
        number += 1
    return free_name


def body_word(module: str, base: str) -> str:
    """Return a word that names a module's body and rows.

    It is `worker_lib` for `pile.patches.worker.patch_lib` in the common package `pile.patches`.

    Args:
        module: The dotted name of the module.
        base: The common package of the pile's modules.
    """
    words: list[str] = []
    inner = module.removeprefix(base).strip(".")
    for part in inner.split("."):
        word = part.removeprefix("patch_")
        words.append(word.strip("_"))
    return "_".join(words).lower() or "pile"


def row_name(word: str, key: str, taken: Collection[str]) -> str:
    """Return a name that no row has yet: `lib-engine-step` for `Engine.step` of `lib`.

    Args:
        word: The word for the module of the pile.
        key: What the row is for, as a dotted name; '' for the whole module.
        taken: The names that rows have.
    """
    name = "-".join([word, *key.split(".")[-2:]]).lower()
    plain_name = re.sub("[^a-z0-9]+", "-", name).strip("-")
    return unused(plain_name or "row", taken)
