"""The alert rules and the dashboard of `examples/metrics`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from patchkit.analysis.status.findings import KINDS
from patchkit.analysis.status.picture import Picture
from patchkit.cli.report.status_metrics import metrics_of

REPOSITORY = Path(__file__).parents[4]
FILES = (
    "examples/metrics/patchkit.rules.yml",
    "examples/metrics/rules_test.yml",
    "examples/metrics/dashboard.json",
    "docs/metrics.md",
)


def families() -> set[str]:
    """The names of all metrics."""
    text = metrics_of(Picture())
    return {family.name for family in text_string_to_metric_families(text)}


@pytest.mark.parametrize("file", FILES)
def test_only_metrics_that_exist_are_named(file: str) -> None:
    """A metric that is renamed would leave an alert that never fires."""
    text = (REPOSITORY / file).read_text()
    named = set(re.findall(r"\bpatchkit_[a-z_]+", text))
    assert named <= families()
    kinds = set(re.findall(r'patchkit_findings\{[^}]*kind=\\?"([a-z-]+)', text))
    assert kinds <= set(KINDS)


def test_every_metric_is_in_the_page() -> None:
    """Who reads the page knows what there is."""
    page = (REPOSITORY / "docs" / "metrics.md").read_text()
    assert {name for name in families() if f"`{name}`" not in page} == set()
