"""Print what the house measures as a Markdown table, or hold it against the limits."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .limits import FILE, faults, read_limits, tightened, write_limits
from .measures import Measure, measure
from .source import read_package
from .table import is_shown, page_with, table

PAGE = "docs/architecture.md"


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: What stands on the command line; None for that of this process.

    Returns:
        The exit code: 1 if `--check` found a fault, or `--details` no such measure.
    """
    options = _parser().parse_args(arguments)
    repository: Path = options.repository
    measures = measure(repository, read_package(repository))
    if options.details:
        return _print_details(measures, options.details)
    if options.check:
        return _check(repository, measures)
    if options.tighten:
        limits = tightened(measures, read_limits(repository / FILE))
        write_limits(repository / FILE, limits)
    if options.tighten or options.write:
        _write_page(repository, measures)
    print(table(measures, read_limits(repository / FILE)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quality", description=(__doc__ or "").strip()
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--check", action="store_true", help="print faults only; 1 if there is one"
    )
    action.add_argument("--details", metavar="KEY", help="what makes up a measure")
    action.add_argument(
        "--tighten", action="store_true", help="lower limits to what is measured"
    )
    action.add_argument(
        "--write", action="store_true", help=f"write the table of {PAGE}"
    )
    parser.add_argument("--repository", type=Path, default=_repository(), metavar="DIR")
    return parser


def _repository() -> Path:
    """Return the nearest folder above this file that is a project."""
    parents = Path(__file__).resolve().parents
    return next(folder for folder in parents if (folder / "pyproject.toml").exists())


def _print_details(measures: list[Measure], key: str) -> int:
    for row in measures:
        if row.key == key:
            print("\n".join(row.details))
            return 0
    keys = ", ".join(row.key for row in measures)
    print(f"quality: found {key!r}, expected one of {keys}", file=sys.stderr)
    return 1


def _check(repository: Path, measures: list[Measure]) -> int:
    limits = read_limits(repository / FILE)
    sentences = faults(measures, limits)
    page = (repository / PAGE).read_text(encoding="utf-8")
    if not is_shown(page, table(measures, limits)):
        sentences.append(
            f"{PAGE} has another table than {FILE}; `make quality-table` writes it"
        )
    for sentence in sentences:
        print(f"quality: {sentence}", file=sys.stderr)
    return int(bool(sentences))


def _write_page(repository: Path, measures: list[Measure]) -> None:
    file = repository / PAGE
    text = table(measures, read_limits(repository / FILE))
    file.write_text(page_with(file.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
