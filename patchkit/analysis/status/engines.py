"""Groups processes by their engine, and names them in messages."""

from collections.abc import Iterable, Sequence

from patchkit.analysis.status.process_status import ProcessStatus


def engines(processes: Iterable[ProcessStatus]) -> Iterable[Sequence[ProcessStatus]]:
    """Group processes by engine: the tree of one main process, and what has lost it.

    There may be several runs. A process without a main process belongs to the latest one that
    started before it.

    Args:
        processes: The processes, in any order.

    Returns:
        The processes of each engine, the oldest first.
    """
    processes_by_main: dict[ProcessStatus | None, list[ProcessStatus]] = {}
    latest: ProcessStatus | None = None
    for process in sorted(processes, key=lambda process: process.started):
        root = process
        while root.parent is not None:
            root = root.parent
        is_main = root.is_reached and "main" in root.roles
        if is_main and root is process:
            latest = process
        if is_main:
            processes_by_main.setdefault(root, []).append(process)
        else:
            processes_by_main.setdefault(latest, []).append(process)
    return processes_by_main.values()


def label_of(process: ProcessStatus) -> str:
    """Name a process by its rank, pid and host.

    Args:
        process: The process.

    Returns:
        The name, for messages.
    """
    address = f"pid {process.pid} on {process.host}"
    if process.rank is None:
        return address
    return f"rank {process.rank}, {address}"
