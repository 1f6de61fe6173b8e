"""Writes a bill of materials in CycloneDX 1.6: releases, with patches in their pedigree."""

from collections.abc import Iterable, Mapping, Sequence

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.export.export import exported
from patchkit.cli.report.as_json import Data, to_json
from patchkit.core.rows.declaration import Row


def sbom_json(
    releases: Iterable[CheckedRelease],
    rows: Sequence[Row],
    packs: Mapping[str, PackSource],
) -> str:
    """Return the bill of materials as JSON.

    Args:
        releases: The releases, which are the components.
        rows: The rows; those that are for a release are its patches.
        packs: The packs of the rows, by name.
    """
    components = [_component(release, rows, packs) for release in releases]
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return to_json({**head, "components": components})


def _component(
    release: CheckedRelease, rows: Sequence[Row], packs: Mapping[str, PackSource]
) -> Data:
    """Return a release as a component."""
    coverage = Coverage(rows, [release])
    patches = [
        _patch(row, coverage, packs) for row in rows if coverage.due(row, release)
    ]
    url = f"pkg:pypi/{release.project}@{release.version}"
    return {
        "type": "library",
        "bom-ref": url,
        "name": release.project,
        "version": release.version,
        "purl": url,
        "pedigree": {"patches": patches},
    }


def _patch(row: Row, coverage: Coverage, packs: Mapping[str, PackSource]) -> Data:
    """Return a row as a patch; without a diff if none can express it, as for a Wrap."""
    patch: Data = {"type": "monkey"}
    export = exported([row], coverage, packs)
    if not export.unwritten:
        text = {"contentType": "text/x-diff", "content": export.diff()}
        patch["diff"] = {"text": text}
    patch["resolves"] = [_issue(row)]
    return patch


def _issue(row: Row) -> Data:
    """Return the issue that a row fixes; fields that its author left empty are left out."""
    issue: Data = {"type": "defect", "id": row.name, "name": row.name}
    if row.patch.why:
        issue["description"] = row.patch.why
    upstream = row.patch.upstream
    references = upstream.split()
    if references and not upstream.startswith("none"):
        issue["references"] = references
    return issue
