"""The engines that patchkit knows, a module each; here are the processes that belong to none.

Python's own libraries start them, and PyTorch's, to run functions for their parents.
"""

from patchkit.core.rows.processes import ProcessRow, rows_of_table

_FOR_ITS_PARENT = """
target   multiprocessing.pool:worker  multiprocessing.managers:BaseManager._run_server
target   multiprocess.pool:worker  multiprocess.managers:BaseManager._run_server
target   concurrent.futures.process:_process_worker  torch.utils.data._utils.worker:_worker_loop
"""

PROCESSES: tuple[ProcessRow, ...] = tuple(
    rows_of_table(
        _FOR_ITS_PARENT,
        role=None,
        why="it runs functions for its parent, and no engine",
    )
)
