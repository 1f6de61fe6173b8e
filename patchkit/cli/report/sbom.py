"""Write patched releases as CycloneDX 1.6 has them: components with patches in their pedigree."""

from collections.abc import Iterable, Mapping, Sequence

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.adopt.export import exported
from patchkit.cli.report.as_json import Data, to_json
from patchkit.core.rows.declaration import Row


def sbom_json(
    releases: Iterable[CheckedRelease],
    rows: Sequence[Row],
    packs: Mapping[str, PackSource],
) -> str:
    """Write a bill of materials.

    Args:
        releases: The releases.
        rows: The rows; those that are for a release are its patches.
        packs: The packs that the rows are of, by name.

    Returns:
        The JSON. A patch without a diff is one that no diff can say.
    """
    components = [_component(release, rows, packs) for release in releases]
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return to_json({**head, "components": components})


def _component(
    release: CheckedRelease, rows: Sequence[Row], packs: Mapping[str, PackSource]
) -> Data:
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
    patch: Data = {"type": "monkey"}
    export = exported([row], coverage, packs)
    if not export.unwritten:
        text = {"contentType": "text/x-diff", "content": export.diff()}
        patch["diff"] = {"text": text}
    patch["resolves"] = [_issue(row)]
    return patch


def _issue(row: Row) -> Data:
    """Describe what a row mends; what its author does not say is left out."""
    issue: Data = {"type": "defect", "id": row.name, "name": row.name}
    if row.patch.why:
        issue["description"] = row.patch.why
    upstream = row.patch.upstream
    references = upstream.split()
    if references and not upstream.startswith("none"):
        issue["references"] = references
    return issue
