"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import functools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks import (
    aliases,
    bootstrap,
    calls,
    check_rows,
    commands,
    cycles,
    drift,
    fits,
    fleet,
    imports,
    load,
    looks,
    observing,
    page,
    pile,
    report,
    start_up,
    status,
    tokens,
    type_checkers,
    upstream_griffe,
    upstream_index,
    vllm_start,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.results import Result

_BENCHMARKS: dict[str, Callable[..., Result]] = {
    "start-up": start_up.run,
    "bootstrap": bootstrap.run,
    "commands": commands.run,
    "imports": imports.run,
    "calls": calls.run,
    "aliases": aliases.run,
    "looks": looks.run,
    "observing": observing.run,
    "pile": pile.run,
    "cycles": cycles.run,
    "vllm-start": vllm_start.run,
    "drift": drift.run,
    "drift-start": drift.run_start,
    "status": status.run,
    "fleet": fleet.run,
    "fit": fits.run,
    "tokens": tokens.run,
    "index": upstream_index.run,
    "check-rows": check_rows.run,
    "index-griffe": upstream_griffe.run,
    "type-checkers": type_checkers.run,
    "load": load.run,
}
_ONLY_IF_NAMED = frozenset({"load"})
"""They take longer than all others together."""
_BY_DEFAULT = [name for name in _BENCHMARKS if name not in _ONLY_IF_NAMED]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks that are named, or all but the longest; show each once it is done."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.write and options.name:
        parser.error(
            "--write needs all benchmarks: the tables of the page are of one run"
        )
    results = _run(options.name or _BY_DEFAULT, options.rounds)
    if options.format == "json":
        print(report.as_json(list(results)))
        return 0
    console = Console()
    report.print_heading(console)
    shown = []
    for result in results:
        report.print_result(console, result)
        shown.append(result)
    if options.write:
        page.write(shown)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    words = ", ".join(_BENCHMARKS)
    excepted = ", ".join(sorted(_ONLY_IF_NAMED))
    parser.add_argument(
        "name",
        nargs="*",
        type=_name,
        help=f"some of {words}; all but {excepted} by default",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the tables of docs/benchmarks.md anew",
    )
    parser.add_argument("--rounds", type=_rounds, help="how often to measure each case")
    return parser


def _name(text: str) -> str:
    if text not in _BENCHMARKS:
        expected = ", ".join(_BENCHMARKS)
        raise argparse.ArgumentTypeError(f"found {text!r}, expected one of {expected}")
    return text


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(
            f"found {text!r}, expected a number of 2 or more"
        )
    return int(text)


def _run(names: Sequence[str], rounds: int | None) -> Iterator[Result]:
    """Run each benchmark in a process of its own, so that none finds what another has left."""
    context = get_context("spawn")
    for name in names:
        work = functools.partial(
            _BENCHMARKS[name], **({"rounds": rounds} if rounds else {})
        )
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            yield pool.submit(work).result()
