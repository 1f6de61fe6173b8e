"""Tokens per second, memory and journals of `vllm serve` under load, with 36 rows and without."""

from __future__ import annotations

import functools
import math
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchmarks import endings
from benchmarks.load_rows import ROWS, effect_in, write_pack
from benchmarks.measure import Samples, in_turns
from benchmarks.results import Aim, Result, lines_of
from benchmarks.samples import folder, has_module
from benchmarks.streams import STREAMS, StreamError, tokens_of_load
from patchkit.runtime.process.journal import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.load_servers import Server

_PATCHED, _PLAIN = f"{ROWS} rows, observed", "without patchkit"
_SECONDS = 30.0
_SETTLE_SECONDS = 3.0
"""Longer than a worker polls for work after the last, and than patchkit's looks are apart."""
_MB = 1024 * 1024
_LIMIT_MB = MAX_BYTES / _MB
_MORE_MEMORY = 1.0
"""Per cent of a server's memory: what one grows more than another one like it, in ten minutes."""
_MORE_JOURNAL = 4096
"""Bytes: a few lines for what is called for the first time only then."""


def run(rounds: int = 20, seconds: float = _SECONDS) -> Result:
    """Put two servers, which stay up side by side, under load in turns.

    Args:
        rounds: how often each of them is under load, beside a first time that is not counted.
        seconds: how long each time.

    Raises:
        RuntimeError: a server did not start, or failed under load.
        NotInEffectError: a row is not what it was written for.
    """
    if not has_module("vllm"):
        return _result(rounds, notes=["vLLM is not installed here: nothing to measure"])
    with endings.in_order(), folder() as place:
        return _measured(place, rounds, seconds)


def _measured(place: Path, rounds: int, seconds: float) -> Result:
    # The package of the lab, which it imports, is in environments with vLLM only.
    from benchmarks import load_servers  # noqa: PLC0415

    write_pack(place)
    model = load_servers.prepare(place)
    servers: dict[str, Server] = {}
    with ExitStack() as stack:
        for case in (_PATCHED, _PLAIN):
            running = load_servers.running(place, model, with_patches=case == _PATCHED)
            servers[case] = stack.enter_context(running)
        cases = {
            case: functools.partial(_seconds_per_token, server, str(model), seconds)
            for case, server in servers.items()
        }
        samples = in_turns(cases, rounds)
        journal = servers[_PATCHED].journal
        assert journal is not None
        effect = effect_in(load_servers.status_of(journal))
        largest = max(load_servers.sizes_in(journal))
    # The first marks are of the round that is not counted.
    memory = {case: server.memory[1:] for case, server in servers.items()}
    journals = servers[_PATCHED].journals[1:]
    return _result(
        rounds,
        samples,
        [
            *speed_aims(samples),
            *memory_aims(memory[_PATCHED], memory[_PLAIN]),
            *journal_aims(journals, largest),
        ],
        [
            f"{STREAMS} streams at a time for {rounds} times {seconds:g} s on each server",
            effect,
            *(_memory_note(case, marks) for case, marks in memory.items()),
            f"journals, all together: {_kilobytes(journals)}",
        ],
    )


def _seconds_per_token(server: Server, model: str, seconds: float) -> float:
    """Put a server under load, and look at its memory and journals once it has nothing to do."""
    try:
        tokens = tokens_of_load(server.address, model, seconds)
    except StreamError as error:
        raise RuntimeError(f"{error}\n{server.last_words()}") from error
    time.sleep(_SETTLE_SECONDS)
    server.measure()
    return seconds / tokens


def after_first_third(marks: Sequence[int]) -> int:
    """Return what was measured at the end of the first third, when all was used once."""
    return marks[math.ceil(len(marks) / 3) - 1]


def growth(marks: Sequence[int]) -> float:
    """Return by how much something has grown after the first third, as a share of what it was."""
    before = after_first_third(marks)
    return (marks[-1] - before) / before


def speed_aims(samples: Samples) -> list[Aim]:
    """Compare seconds per token: their spread decides, as two loads of one server differ too."""
    text = "a token takes as long as without patchkit, within noise: the lower quartile"
    return [Aim(text, samples.ratio(_PATCHED, _PLAIN).low, 1.0)]


def memory_aims(patched: Sequence[int], plain: Sequence[int]) -> list[Aim]:
    """Compare growths: a server's memory grows without patchkit, too."""
    text = "after the first third, memory grows by no more than without patchkit: per cent more"
    return [Aim(text, 100 * (growth(patched) - growth(plain)), _MORE_MEMORY)]


def journal_aims(journals: Sequence[int], largest: int) -> list[Aim]:
    """Hold each journal to its limit, and all of them to what they were after the first third."""
    grown = journals[-1] - after_first_third(journals)
    return [
        Aim("the largest journal: MB of the 4 that end it", largest / _MB, _LIMIT_MB),
        Aim("after the first third, journals grow by: bytes", grown, _MORE_JOURNAL),
    ]


def _memory_note(case: str, marks: Sequence[int]) -> str:
    before, after = after_first_third(marks) / _MB, marks[-1] / _MB
    grown = 100 * growth(marks)
    return f"memory, {case}: {before:.1f} MB, then {after:.1f} MB ({grown:+.2f} %)"


def _kilobytes(sizes: Sequence[int]) -> str:
    return f"{after_first_third(sizes) / 1e3:.1f} kB, then {sizes[-1] / 1e3:.1f} kB"


def _result(
    rounds: int,
    samples: Samples | None = None,
    aims: Sequence[Aim] = (),
    notes: Sequence[str] = (),
) -> Result:
    lines = lines_of(per_second(samples), [_PLAIN], 1.0) if samples else []
    return Result(
        name="load",
        title=f"`vllm serve`, {STREAMS} streams at a time: tokens per second",
        unit="tokens/s",
        rounds=rounds,
        against=[_PLAIN],
        lines=lines,
        aims=aims,
        notes=notes,
    )


def per_second(samples: Samples) -> Samples:
    """Turn seconds per token into tokens per second."""
    return Samples(
        {case: [1 / cost for cost in costs] for case, costs in samples.costs.items()}
    )
