"""Groups names that cannot be decided by their modules, where there are many."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Report
from patchkit.cli.report.finding_groups import FindingGroup, location, releases_of
from patchkit.cli.report.words import count

_MANY = 10
"""Up to so many names, each is told as a finding of its own."""
_MOST_NAMED = 3
"""How many modules a summary names."""


def undecided_by_module(
    groups: Sequence[FindingGroup],
) -> dict[str, list[FindingGroup]]:
    """Return the findings of names that cannot be decided, by the module of the name.

    Args:
        groups: The findings of one package.

    Returns:
        The findings, the module with most of them first; none where there are few.
    """
    by_module = dict[str, list[FindingGroup]]()
    numbers = dict[str, int]()
    for group in groups:
        if group.finding.code is not codes.NOT_DECIDED:
            continue
        module, _, _ = group.finding.target.partition(":")
        of_module = by_module.setdefault(module, [])
        of_module.append(group)
        numbers[module] = len(of_module)
    if sum(numbers.values()) <= _MANY:
        return {}
    return {module: by_module[module] for module in _most_first(numbers)}


def _most_first(numbers: Mapping[str, int]) -> list[str]:
    """Order modules by the number of their names; equal ones by their own names."""
    by_name = sorted(numbers)
    return sorted(by_name, key=numbers.__getitem__, reverse=True)


def lines_of_module(groups: Iterable[FindingGroup], report: Report) -> Iterator[str]:
    """Yield the names of a module below the reasons why they cannot be decided.

    Args:
        groups: The findings of the module's names.
        report: The report that they are in.
    """
    by_reason = dict[str, list[FindingGroup]]()
    for group in groups:
        reason = group.finding.message
        of_reason = by_reason.setdefault(reason, [])
        of_reason.append(group)
    for reason, of_reason in by_reason.items():
        yield reason
        for group in of_reason:
            yield _line(group, report)


def _line(group: FindingGroup, report: Report) -> str:
    """Return the name of a finding, its first place, and its releases if these are not all."""
    target = group.finding.target
    _, _, name = target.partition(":")
    line = f"  {name or target}  {location(group.finding)}"
    if len(group.releases) < report.read:
        releases = releases_of(group, report)
        line += f"  {releases}"
    return line


def summary_of_modules(numbers: Mapping[str, int]) -> str:
    """Say in which modules the names lie that cannot be decided.

    Args:
        numbers: By module, the number of such names.

    Returns:
        A text such as `: 20 in vllm.envs, 9 in vllm.logger`; '' where there are few names.
    """
    left = sum(numbers.values())
    if left <= _MANY:
        return ""
    modules = _most_first(numbers)
    named = modules[:_MOST_NAMED]
    parts = list[str]()
    for module in named:
        number = numbers[module]
        left -= number
        parts.append(f"{number} in {module}")
    other_count = len(modules) - len(named)
    if other_count:
        others = count(other_count, "other module")
        parts.append(f"{left} in {others}")
    text = ", ".join(parts)
    return f": {text}"
