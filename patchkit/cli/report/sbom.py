"""Patched releases as CycloneDX 1.6 has them: components, with the patches in their pedigree."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.subjects import Subject
from patchkit.authoring.adopt.export import exported
from patchkit.cli.report.as_json import to_json
from patchkit.core.rows.declaration import Row


def sbom_json(
    subjects: Iterable[Subject], rows: Sequence[Row], packs: Mapping[str, PackSource]
) -> str:
    """Write a bill of materials; a patch without a diff is one that no diff can say."""
    components = [_component(one, rows, packs) for one in subjects]
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    return to_json({**head, "components": components})


def _component(
    subject: Subject, rows: Sequence[Row], packs: Mapping[str, PackSource]
) -> dict[str, Any]:
    coverage = Coverage(rows, [subject])
    patches = [_patch(row, coverage, packs) for row in rows if coverage.due(row, subject)]
    url = f"pkg:pypi/{subject.project}@{subject.version}"
    whole = {"type": "library", "bom-ref": url, "name": subject.project}
    return {**whole, "version": subject.version, "purl": url, "pedigree": {"patches": patches}}


def _patch(row: Row, coverage: Coverage, packs: Mapping[str, PackSource]) -> dict[str, Any]:
    whole = exported([row], coverage, packs)
    text = {} if whole.unwritten else {"contentType": "text/x-diff", "content": whole.diff()}
    links = [] if row.patch.upstream.startswith("none") else row.patch.upstream.split()
    about = {"name": row.name, "description": row.patch.why, "references": links}
    issue = {"type": "defect", "id": row.name} | {key: one for key, one in about.items() if one}
    return {"type": "monkey", **({"diff": {"text": text}} if text else {}), "resolves": [issue]}
