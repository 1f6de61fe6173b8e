"""Every measure of the house, taken once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import circles, docstrings, idioms, loading, names, repetition, sizes
from .source import DOORS, PACKS, WINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from .source import Module

NODES = "nodes-"
"""What the keys of the measures of a wing's size begin with."""
_SHARES = (
    ("conditionals", "conditional expressions", idioms.is_conditional_expression),
    (
        "tuple-assignments",
        "tuple assignments `a, b = x, y`",
        idioms.is_tuple_assignment,
    ),
    ("nested-comprehensions", "nested comprehensions", idioms.is_nested_comprehension),
)
_COUNTS = (
    (
        "conditional-loops",
        "loops `for x in xs if c else ()`",
        idioms.is_conditional_loop,
    ),
    ("splats", 'splats of a literal, `*("a", "b")`', idioms.is_splat),
)


@dataclass(frozen=True)
class Measure:
    """A row of the table: the smaller the value, the better, if there is a limit.

    Args:
        key: Its name in `quality.toml`.
        label: What is measured.
        value: How much it is; None if that is not known here.
        digits: How many digits after the point count.
        unit: What is written after the value.
        is_limited: Whether the value has a limit.
        details: The names or lines that make up the value.
    """

    key: str
    label: str
    value: float | None
    digits: int = 0
    unit: str = ""
    is_limited: bool = True
    details: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Drop the digits that do not count."""
        if self.value is not None:
            object.__setattr__(self, "value", round(self.value, self.digits))


def measure(repository: Path, modules: Sequence[Module]) -> list[Measure]:
    """Measure a package.

    Args:
        repository: The folder that the package's own folder lies in.
        modules: The modules of the package.

    Returns:
        The measures, in the order of the table.

    Raises:
        RuntimeError: A process that was to load the package failed.
    """
    own = [module for module in modules if module.wing not in PACKS]
    return [
        *_nodes(modules),
        *_density(modules),
        *_names(modules),
        *_idioms(modules),
        *_lengths(modules),
        *_circles(modules),
        *_docstrings(own),
        *_repetition(own),
        *_top(modules),
        *_loaded(repository),
        *_noted(repository / ".quality"),
    ]


def _nodes(modules: Sequence[Module]) -> Iterator[Measure]:
    """Take the size of each wing; packs have no limit, for bodies stay as they were released."""
    by_wing = sizes.nodes_by_wing(modules)
    for wing in (DOORS, *WINGS):
        yield Measure(f"{NODES}{wing}", f"syntax nodes, {wing}", by_wing.get(wing, 0))
    for pack in PACKS:
        label = f"syntax nodes, pack `{pack}`"
        yield Measure(f"{NODES}{pack}", label, by_wing.get(pack, 0), is_limited=False)


def _density(modules: Sequence[Module]) -> Iterator[Measure]:
    label = "syntax nodes a line of code"
    yield Measure("density", label, sizes.nodes_per_line(modules), digits=2)
    value, file = sizes.densest(modules)
    yield Measure(
        "density-of-file", f"{label}, densest file", value, digits=2, details=(file,)
    )


def _names(modules: Sequence[Module]) -> Iterator[Measure]:
    bound = names.bound_names(modules)
    counts = Counter(name for name in bound if name in names.EMPTY)
    details = tuple(f"{name}: {count}" for name, count in counts.most_common())
    value = _share(counts.total(), len(bound))
    yield Measure(
        "empty-names", "bound names that say nothing", value, 1, "%", details=details
    )


def _share(part: int, total: int) -> float:
    return 100 * part / max(total, 1)


def _idioms(modules: Sequence[Module]) -> Iterator[Measure]:
    for key, label, is_idiom in _SHARES:
        value = idioms.per_thousand_lines(modules, is_idiom)
        details = _lines(modules, is_idiom)
        yield Measure(key, f"{label}, in 1,000 lines", value, digits=1, details=details)
    for key, label, is_idiom in _COUNTS:
        details = _lines(modules, is_idiom)
        yield Measure(key, label, len(details), details=details)


def _lines(modules: Sequence[Module], is_idiom: Callable[..., bool]) -> tuple[str, ...]:
    return tuple(
        f"{file}:{line}" for file, line in idioms.occurrences(modules, is_idiom)
    )


def _lengths(modules: Sequence[Module]) -> Iterator[Measure]:
    lengths = sizes.function_lengths(modules)
    yield Measure(
        "function-p90", "lines of a function, nine of ten", sizes.ninth_tenth(lengths)
    )
    yield Measure(
        "function-longest", "lines of the longest function", max(lengths, default=0)
    )
    files = sizes.long_files(modules)
    label = f"files over {sizes.LONG_FILE} lines"
    yield Measure("long-files", label, len(files), details=tuple(files))


def _circles(modules: Sequence[Module]) -> Iterator[Measure]:
    label = "circles of imports between"
    arrows = circles.module_arrows(modules)
    rooms = circles.room_arrows(modules, arrows)
    wings = circles.wing_arrows(modules, arrows)
    yield _circle("circles-of-modules", f"{label} modules", arrows)
    yield _circle("circles-of-rooms", f"{label} rooms", rooms)
    yield _circle("circles-of-wings", f"{label} wings", wings)


def _circle(key: str, label: str, arrows: circles.Arrows) -> Measure:
    groups = circles.circles(arrows)
    return Measure(
        key, label, len(groups), details=tuple(" ".join(group) for group in groups)
    )


def _docstrings(modules: Iterable[Module]) -> Iterator[Measure]:
    definitions = docstrings.documented(modules)
    details = tuple(
        f"{definition.name}: {', '.join(definition.missing)}"
        for definition in definitions
        if definition.missing
    )
    label = "docstrings that leave out arguments, results or errors"
    value = _share(len(details), len(definitions))
    yield Measure("incomplete-docstrings", label, value, 1, "%", details=details)


def _repetition(modules: Sequence[Module]) -> Iterator[Measure]:
    shared = repetition.shared_class_names(modules)
    details = tuple(f"{name}: {', '.join(homes)}" for name, homes in shared.items())
    yield Measure(
        "shared-class-names", "names of two classes", len(shared), details=details
    )
    label = f"lines in runs of {repetition.RUN} that stand twice"
    yield Measure("repeated-lines", label, repetition.repeated_lines(modules))


def _top(modules: Iterable[Module]) -> Iterator[Measure]:
    flat = tuple(module.file for module in modules if module.wing == DOORS)
    yield Measure("flat-modules", "modules at the top", len(flat), details=flat)
    folders = sorted({module.wing for module in modules} - {DOORS})
    yield Measure("folders", "folders at the top", len(folders), details=tuple(folders))


def _loaded(repository: Path) -> Iterator[Measure]:
    loaded = loading.count_loaded(repository)
    label = "modules of patchkit in a process:"
    yield Measure("loaded-armed", f"{label} armed", loaded.armed)
    yield Measure(
        "loaded-applied", f"{label} a Wrap, a Replace, an Edit applied", loaded.applied
    )
    yield Measure("loaded-locked", f"{label} the same with a lock", loaded.locked)


def _noted(folder: Path) -> Iterator[Measure]:
    """Read what `make mutants` wrote on this machine; that takes too long to be done here."""
    for key, label in (
        ("coverage", "lines that unit tests run"),
        ("mutants", "mutants that unit tests kill"),
    ):
        file = folder / f"{key}.json"
        noted = {}
        if file.exists():
            noted = json.loads(file.read_text(encoding="utf-8"))
        yield Measure(key, label, noted.get("percent"), 1, "%", is_limited=False)
        for wing, figure in noted.get("wings", {}).items():
            percent = figure["percent"]
            yield Measure(
                f"{key}-{wing}", f"{label}, {wing}", percent, 1, "%", is_limited=False
            )
