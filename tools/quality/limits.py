"""The limits of what is measured, which lie in `quality.toml` and are a ratchet.

A limit goes down as the house gets better. It is raised only by a change that says in `bought`
what it is raised for.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .measures import Measure

FILE = "quality.toml"
_HEADER = """\
# What `make quality` measures may not pass its limit here: `make lint` fails if it does.
#
# limit    the largest value that is in order
# aim      where the limit is to come to; no limit has to be lower
# lowest   the lowest that the limit has been
# bought   what a limit that is not the lowest was raised for; required then
#
# `make quality-tighten` lowers limits to what is measured. Raise one by hand, and say what for.
"""


@dataclass(frozen=True)
class Limit:
    """What is said of one measure in the file.

    Args:
        limit: The largest value that is in order.
        aim: Where the limit is to come to.
        lowest: The lowest that the limit has been.
        bought: What the limit was raised for.
    """

    limit: float | None = None
    aim: float | None = None
    lowest: float | None = None
    bought: str = ""


def read_limits(file: Path) -> dict[str, Limit]:
    """Read a file of limits.

    Args:
        file: The file; it may be absent.

    Returns:
        The limits by the key of the measure.

    Raises:
        TypeError: An entry has a key that no limit has.
    """
    if not file.exists():
        return {}
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {key: Limit(**table) for key, table in tables.items()}


def write_limits(file: Path, limits: Mapping[str, Limit]) -> None:
    """Write a file of limits, with a header that says how to read it.

    Args:
        file: The file to write.
        limits: The limits by the key of the measure, in the order to write them in.
    """
    tables = [_table(key, limit) for key, limit in limits.items()]
    file.write_text("\n".join([_HEADER, *tables]), encoding="utf-8")


def _table(key: str, limit: Limit) -> str:
    lines = [f"[{key}]"]
    for name, value in vars(limit).items():
        if isinstance(value, str) and value:
            lines.append(f"{name} = {_quoted(value)}")
        elif isinstance(value, (int, float)):
            lines.append(f"{name} = {_number(value)}")
    return "\n".join([*lines, ""])


def _number(value: float) -> str:
    if value == int(value):
        return str(int(value))
    return str(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def faults(measures: Iterable[Measure], limits: Mapping[str, Limit]) -> list[str]:
    """Tell which limits are passed, missing, or raised without a reason.

    Args:
        measures: What was measured.
        limits: The limits by the key of the measure.

    Returns:
        A sentence for each.
    """
    sentences = []
    unknown = dict(limits)
    for measure in measures:
        limit = unknown.pop(measure.key, Limit())
        if measure.is_limited:
            sentences += _faults_of(measure, limit)
    sentences += [
        f"{key} has a limit in {FILE}, and is not measured" for key in unknown
    ]
    return sentences


def _faults_of(measure: Measure, limit: Limit) -> list[str]:
    if limit.limit is None:
        return [f"{measure.key} has no limit in {FILE}"]
    sentences = []
    if measure.value is not None and measure.value > limit.limit:
        sentences.append(
            f"{measure.key} ({measure.label}) is {measure.value:,g}{measure.unit}, over its limit "
            f"of {limit.limit:,g}{measure.unit}"
        )
    if limit.lowest is not None and limit.limit > limit.lowest and not limit.bought:
        sentences.append(
            f"{measure.key} has had a limit of {limit.lowest:,g}: say in `bought` of {FILE} what "
            f"it was raised to {limit.limit:,g} for"
        )
    return sentences


def tightened(
    measures: Iterable[Measure], limits: Mapping[str, Limit]
) -> dict[str, Limit]:
    """Lower limits to what is measured, but none below its aim; none is raised.

    Args:
        measures: What was measured.
        limits: The limits by the key of the measure.

    Returns:
        The new limits, in the order of the measures.
    """
    lowered = {}
    for measure in measures:
        limit = limits.get(measure.key, Limit())
        if measure.is_limited and limit.limit is not None:
            limit = _lowered(limit, _lowest_useful(measure.value, limit.aim))
        if limit != Limit():
            lowered[measure.key] = limit
    return lowered


def _lowered(limit: Limit, value: float) -> Limit:
    if limit.limit is None or value >= limit.limit:
        return limit
    if limit.lowest is None or value <= limit.lowest:
        return replace(limit, limit=value, lowest=value, bought="")
    return replace(limit, limit=value)


def _lowest_useful(value: float | None, aim: float | None) -> float:
    """Return the lowest limit that a value meets and that its aim asks for."""
    return max(value or 0, aim or 0)
