"""What may lie where a file is expected: pipes, devices, links that lead nowhere or in circles."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextlib.contextmanager
def ending_in(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in what waits longer, be it in a system call."""

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pipe(place: Path) -> None:
    os.mkfifo(place)


def local_socket(place: Path) -> None:
    """A socket that nobody listens to."""
    folder = os.open(place.parent, os.O_RDONLY)
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(f"/proc/self/fd/{folder}/{place.name}")
    bound.close()
    os.close(folder)


def folder(place: Path) -> None:
    place.mkdir()


def full_folder(place: Path) -> None:
    place.mkdir()
    (place / "up").mkdir()
    (place / "up" / "__init__.py").write_text("def f(): ...")


def zeros(place: Path) -> None:
    place.symlink_to("/dev/zero")


def null(place: Path) -> None:
    place.symlink_to("/dev/null")


def terminal(place: Path) -> None:
    place.symlink_to("/dev/tty")


def nothing(place: Path) -> None:
    place.symlink_to("/nowhere/at/all")


def itself(place: Path) -> None:
    place.symlink_to(place.name)


def circle(place: Path) -> None:
    other = place.with_name("other")
    other.symlink_to(place.name)
    place.symlink_to(other.name)


def parent(place: Path) -> None:
    place.symlink_to("..")


def pipe_behind_link(place: Path) -> None:
    hidden = place.with_name("hidden")
    os.mkfifo(hidden)
    place.symlink_to(hidden.name)


def memory_of_process(place: Path) -> None:
    place.symlink_to("/proc/self/mem")


def environment(place: Path) -> None:
    place.symlink_to("/proc/self/environ")


def empty(place: Path) -> None:
    place.touch()


def hole(place: Path) -> None:
    """A file of a terabyte, with nothing in it."""
    with place.open("wb") as file:
        file.truncate(1 << 40)


def no_rights(place: Path) -> None:
    place.write_bytes(b"PK")
    place.chmod(0)


PLACES: dict[str, Callable[[Path], None]] = {
    made.__name__: made
    for made in (
        pipe,
        local_socket,
        folder,
        full_folder,
        zeros,
        null,
        terminal,
        nothing,
        itself,
        circle,
        parent,
        pipe_behind_link,
        memory_of_process,
        environment,
        empty,
        hole,
        no_rights,
    )
}
