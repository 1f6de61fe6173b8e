"""Groups names that cannot be decided by their modules, where there are many."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Report
from patchkit.cli.report.finding_groups import FindingGroup, location, releases_of
from patchkit.cli.report.words import count

MANY = 10
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
    number = 0
    for group in groups:
        if group.finding.code is codes.NOT_DECIDED:
            number += 1
            module = group.finding.target.partition(":")[0]
            by_module.setdefault(module, []).append(group)
    if number <= MANY:
        return {}
    return dict(sorted(by_module.items(), key=_most_first))


def _most_first(item: tuple[str, Sequence[FindingGroup]]) -> tuple[int, str]:
    """Order modules by the number of their names, then by their own."""
    module, groups = item
    return -len(groups), module


def lines_of_module(groups: Iterable[FindingGroup], report: Report) -> Iterator[str]:
    """Yield the names of a module below the reasons why they cannot be decided.

    Args:
        groups: The findings of the module's names.
        report: The report that they are in.
    """
    by_reason = dict[str, list[FindingGroup]]()
    for group in groups:
        by_reason.setdefault(group.finding.message, []).append(group)
    for reason, alike in by_reason.items():
        yield reason
        for group in alike:
            name = group.finding.target.partition(":")[2] or group.finding.target
            words = [f"  {name}", location(group.finding)]
            if len(group.releases) < report.read:  # not in all
                words.append(releases_of(group, report))
            yield "  ".join(filter(None, words))


def summary_of_modules(numbers: Mapping[str, int]) -> str:
    """Say in which modules the names lie that cannot be decided.

    Args:
        numbers: By module, the number of such names.

    Returns:
        A text such as `: 20 in vllm.envs, 9 in vllm.logger`; '' where there are few names.
    """
    if sum(numbers.values()) <= MANY:
        return ""
    modules = sorted(numbers, key=lambda module: (-numbers[module], module))
    parts = [f"{numbers[module]} in {module}" for module in modules[:_MOST_NAMED]]
    others = modules[_MOST_NAMED:]
    if others:
        left = sum(numbers[module] for module in others)
        parts.append(f"{left} in {count(len(others), 'other module')}")
    return f": {', '.join(parts)}"
