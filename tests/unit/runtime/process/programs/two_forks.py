import logging, os, threading  # logging first: its own hook has forks wait for one another

slow = threading.local()
fast_has_forked = threading.Event()


# Registered before patchkit's, so that it runs once the thread has ended.
def before():
    if hasattr(slow, "begins"):
        slow.begins.set()
        fast_has_forked.wait(20)


os.register_at_fork(before=before)
import patchkit.auto, up.mod
from awaiting import await_entry


def fork():
    if (pid := os.fork()) == 0:
        try:
            await_entry(event="verified")
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def fork_slowly():
    slow.begins = begins
    pids.append(fork())


begins, pids = threading.Event(), []
thread = threading.Thread(target=fork_slowly)
thread.start()
begins.wait(20)
pids.append(fork())
fast_has_forked.set()
thread.join()
await_entry(event="verified")
print([os.waitpid(pid, 0)[1] for pid in pids])
