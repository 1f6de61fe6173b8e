"""Groups processes by the engine that they belong to, and labels them for messages."""

from collections.abc import Iterable, Sequence

from patchkit.analysis.status.process_status import ProcessStatus


def engines(processes: Iterable[ProcessStatus]) -> Iterable[Sequence[ProcessStatus]]:
    """Group processes by engine: each main process, with all processes that descend from it.

    A process whose main process is not known belongs to the latest one that started before it, as
    the journals may be of several runs.

    Args:
        processes: The processes, in any order.

    Returns:
        The processes of each engine, the oldest first.
    """
    processes_by_main: dict[ProcessStatus | None, list[ProcessStatus]] = {}
    latest: ProcessStatus | None = None
    oldest_first = sorted(processes, key=lambda process: process.started)
    for process in oldest_first:
        root = process
        while root.parent is not None:
            root = root.parent
        # A process that was not reached begins no engine, as its role is only guessed.
        has_main = root.is_reached and "main" in root.roles
        if has_main and root is process:
            latest = process
        if has_main:
            processes_by_main.setdefault(root, []).append(process)
        else:
            # `latest` is None for processes that started before any main process.
            processes_by_main.setdefault(latest, []).append(process)
    return processes_by_main.values()


def label_of(process: ProcessStatus) -> str:
    """Label a process by its rank, pid and host.

    Args:
        process: The process.

    Returns:
        The label, such as `rank 0, pid 4711 on node-1`; without a rank if it has none.
    """
    address = f"pid {process.pid} on {process.host}"
    if process.rank is None:
        return address
    return f"rank {process.rank}, {address}"
