"""Calls targets in a main process, an engine core and a worker, by the start method that is asked."""

import multiprocessing
import os
import signal
import sys
import threading

import probed_upstream as upstream


def many(times):
    for _ in range(times):
        upstream.plain(1)


def core():
    many(5)
    upstream.Child(1).method()
    os.kill(os.getpid(), signal.SIGKILL)


def worker():
    import probed_late  # noqa: F401, PLC0415

    threads = [threading.Thread(target=many, args=(2000,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    many(3)
    context = multiprocessing.get_context(sys.argv[1])
    for function, name in ((core, "EngineCore"), (worker, "VllmWorker-0")):
        process = context.Process(target=function, name=name)
        process.start()
        process.join()
    sys.exit(7)
