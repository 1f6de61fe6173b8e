"""Merges groups of findings about one thing, and says what differs between their releases."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby

from patchkit.analysis.check.findings import Report
from patchkit.cli.report.finding_groups import FindingGroup, gist, groups
from patchkit.cli.report.release_spans import release_spans
from patchkit.core.record import grouped

_WORD = re.compile(r"[^\s,;]+|[,;]")
_OF_BODIES = ("PK504", "PK6")
"""What codes begin with whose findings are about a body, and not about a row."""
_GAP = re.compile(r" (?=[,;])")
_ENDS = " ,;'"
"""What is left out at the ends of quoted words."""


def merged_groups(report: Report) -> list[FindingGroup]:
    """Return the findings of a report in groups, with one group for each thing that is wrong.

    Findings are about one thing if all but their message is equal, such as the refused arguments of
    one call where upstream's signature has changed twice. Two findings of one release stay two.
    What is wrong with a body that several patches share is one group.

    Args:
        report: The report.
    """
    merged: list[list[FindingGroup]] = []
    by_subject: dict[object, list[list[FindingGroup]]] = {}
    for group in groups(report):
        same_subject = by_subject.setdefault(_subject(group), [])
        for variants in same_subject:
            if group.releases and _are_disjoint(group, variants):
                variants.append(group)
                break
        else:
            variants = [group]
            same_subject.append(variants)
            merged.append(variants)
    order = {release: number for number, release in enumerate(report.releases)}
    return _shared([_merged(variants, order) for variants in merged])


def merged_sections(report: Report) -> list[tuple[str, list[FindingGroup]]]:
    """Divide the merged groups of a report into sections, each of one patch.

    As errors come first, a patch with errors and notes may have two sections, with those of other
    patches between them.

    Args:
        report: The report.

    Returns:
        The patch and the groups of each section; the patch is '' for packs and releases.
    """
    by_patch = groupby(merged_groups(report), lambda group: group.finding.patch)
    return [(patch, list(section)) for patch, section in by_patch]


def differences_of(group: FindingGroup, report: Report) -> list[str]:
    """Say what differs in the older variants of a merged group, in a text for each variant.

    Args:
        group: The group.
        report: The report that it is in.

    Returns:
        Texts such as `vllm 0.24.0 to 0.28.0: without 'pcp_manager=…'`; the newest variant first.
    """
    newest = _WORD.findall(gist(group.finding.message))
    texts = []
    for variant in reversed(group.variants):
        words = _WORD.findall(gist(variant.finding.message))
        # The same words may differ in several places of a message.
        changes = ", ".join(dict.fromkeys(_changes(newest, words)))
        if "with '" in changes and "without '" in changes:  # it is another sentence
            _, semicolon, end = gist(group.finding.message).partition(";")
            changes = gist(variant.finding.message).removesuffix(semicolon + end)
        texts.append(f"{release_spans(variant.releases, report)}: {changes}")
    return texts


def _subject(group: FindingGroup) -> object:
    """Return what a group is about: all of its finding but the message and the release."""
    finding = group.finding
    return (
        finding.code,
        finding.patch,
        finding.target,
        finding.file,
        finding.line,
        gist(finding.fix),
    )


def _are_disjoint(group: FindingGroup, variants: Sequence[FindingGroup]) -> bool:
    """Whether a group has none of the releases of others."""
    return all(set(variant.releases).isdisjoint(group.releases) for variant in variants)


def _merged(variants: Sequence[FindingGroup], order: dict[str, int]) -> FindingGroup:
    """Merge groups about one thing; the message is that of the newest release.

    Args:
        variants: The groups.
        order: The number of each release of the report.
    """
    if len(variants) == 1:
        return variants[0]

    def newest_release(group: FindingGroup) -> int:
        return max(order.get(release, -1) for release in group.releases)

    *older, newest = sorted(variants, key=newest_release)
    releases: list[str] = []
    for variant in variants:
        releases += variant.releases
    return FindingGroup(
        newest.finding, tuple(releases), varies=True, variants=tuple(older)
    )


def _shared(merged: Sequence[FindingGroup]) -> list[FindingGroup]:
    """Make one group of those that differ in their patch alone, as they are about one body."""
    alike = grouped((_subject_of_body(group), group) for group in merged)
    shared = []
    for first, *others in alike.values():
        finding = first.finding
        if others:
            patches = ", ".join(group.finding.patch for group in others)
            message = f"{finding.message}; likewise for {patches}"
            finding = replace(finding, message=message)
        shared.append(first._replace(finding=finding))
    return shared


def _subject_of_body(group: FindingGroup) -> object:
    """Return what a group about a body is about, whatever its patch; something else for others."""
    finding = group.finding
    if not finding.code.code.startswith(_OF_BODIES):
        return id(group)
    of_no_patch = group._replace(finding=replace(finding, patch=""))
    return _subject(of_no_patch), finding.message, group.releases


def _changes(newest: Sequence[str], older: Sequence[str]) -> Iterator[str]:
    """Yield the words that differ in an older message: those it has, and those it lacks."""
    matcher = SequenceMatcher(None, newest, older, autojunk=False)
    for _, start, end, older_start, older_end in matcher.get_opcodes():
        lacks = _quoted(newest[start:end])
        has = _quoted(older[older_start:older_end])
        if lacks == has:
            continue
        if not has:
            yield f"without '{lacks}'"
        elif not lacks:
            yield f"with '{has}'"
        else:
            yield f"'{has}' for '{lacks}'"


def _quoted(words: Sequence[str]) -> str:
    """Return words as they stand in a message, without punctuation around them."""
    text = _GAP.sub("", " ".join(words)).strip(_ENDS)
    # A bracket whose other half is in words that are the same in both messages.
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1]
    while text.startswith("(") and text.count("(") > text.count(")"):
        text = text[1:]
    return text
