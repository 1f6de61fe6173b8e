"""Runs a command that reaches no network, and can write into some folders only.

`isolation` runs this file as a program; it imports nothing but Python's library.
"""

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any

_NEW_USER = 0x10000000  # CLONE_NEWUSER
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET

_NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS
_SET_FILTER = 22  # PR_SET_SECCOMP
_FILTER_MODE = 2  # SECCOMP_MODE_FILTER
_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""By machine, its number in a filter of system calls, and the number of the call `socket`."""
_IO_URING_SETUP = 425
_OTHER_NUMBERS = 0x40000000  # from here on, x86_64 has the same calls by other numbers
_LOCAL = 1  # AF_UNIX
_NETLINK = 16  # AF_NETLINK, by which programs ask for the names of interfaces

_LOAD = 0x20
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_NOT_LESS = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050001  # with the error EPERM

_CREATE_RULESET = (
    444  # the calls of Landlock, whose numbers are the same on all machines
)
_ADD_RULE = 445
_RESTRICT_SELF = 446
_ASK_VERSION = 1
_BENEATH_PATH = 1
_WRITE_FILE = 1 << 1
_TRUNCATE = 1 << 14
_RIGHTS = {1: 0x1FF0 | _WRITE_FILE, 2: 1 << 13, 3: _TRUNCATE}
"""The rights to change files, by the version of Landlock that has them first.

The first are to write, to remove, and to make files of any kind; then, to move them.
"""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")


def main() -> None:
    """Cut this process off as its first argument asks, then become the command in the others."""
    request = json.loads(sys.argv[1])
    command = sys.argv[2:]
    # Opened before the cut: it may lie outside of the folders that can be written to after it.
    with open(request["report"], "w", encoding="utf-8") as report:  # noqa: PTH123
        faults = {"network": "", "files": ""}
        faults["network"] = _fault_of(_cut_network)
        if request["writable"] is not None:
            writable = request["writable"]
            faults["files"] = _fault_of(lambda: _protect_files(writable))
        json.dump(faults, report)
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


def _fault_of(cut: Callable[[], None]) -> str:
    """Make a cut, and return why the system does not allow it; '' where it does."""
    if sys.platform != "linux":
        return f"{platform.system()} is not Linux"
    try:
        cut()
    except (OSError, AttributeError) as error:
        return str(error)
    return ""


def _checked(name: str, result: int) -> int:
    """Return the result of a function of the C library; raise its error if it is negative.

    Raises:
        OSError: The result says that there was an error.
    """
    if result < 0:
        raise OSError(f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _c_library() -> Any:
    """Return the C library that Python itself has loaded."""
    return ctypes.CDLL(None, use_errno=True)


def _cut_network() -> None:
    """Leave the network, or refuse to make sockets where that is not allowed."""
    try:
        _enter_empty_network()
    except OSError as error:
        try:
            _refuse_sockets()
        except OSError as further_error:
            raise OSError(f"{error}; {further_error}") from error


def _enter_empty_network() -> None:
    """Give this process and its children a network of their own, with nothing in it."""
    library = _c_library()
    if library.unshare(_NEW_NETWORK) == 0:
        return
    user = os.getuid()
    group = os.getgid()
    # Without the right to make a network, a process may make one in a user namespace of its own.
    _checked("unshare", library.unshare(_NEW_USER | _NEW_NETWORK))
    # They let it be the same user there as before; Linux demands them in this order.
    maps = {
        "setgroups": "deny",
        "uid_map": f"{user} {user} 1",
        "gid_map": f"{group} {group} 1",
    }
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)


def _refuse_sockets() -> None:
    """Let this process and its children make no sockets but local ones, by a filter of calls.

    Raises:
        OSError: The filter is not known for this machine, or not allowed.
    """
    machine = platform.machine()
    if machine not in _MACHINES:
        raise OSError(f"seccomp: no filter is known for {machine}")
    number, socket_call = _MACHINES[machine]
    # Each has an operation, by how many instructions it jumps if that is true or not, and a value.
    # The offsets 0, 4 and 16 are those of the call's number, the machine's, and the first argument.
    instructions = (
        (_LOAD, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, 7, number),  # of another machine: refuse
        (_LOAD, 0, 0, 0),
        (_JUMP_IF_NOT_LESS, 5, 0, _OTHER_NUMBERS),  # refuse
        (_JUMP_IF_EQUAL, 4, 0, _IO_URING_SETUP),  # which can make sockets, too: refuse
        (_JUMP_IF_EQUAL, 0, 4, socket_call),  # any other call: allow
        (_LOAD, 0, 0, 16),
        (_JUMP_IF_EQUAL, 2, 0, _LOCAL),  # allow
        (_JUMP_IF_EQUAL, 1, 0, _NETLINK),  # allow
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    )
    # As `struct sock_filter` of Linux, and their number and address as `struct sock_fprog`.
    packed = b"".join(struct.pack("HBBI", *values) for values in instructions)
    program = ctypes.create_string_buffer(packed)
    address = ctypes.addressof(program)
    header = struct.pack("HxxxxxxQ", len(instructions), address)
    library = _c_library()
    _give_up_privileges(library)
    result = library.prctl(_SET_FILTER, _FILTER_MODE, header, 0, 0)
    _checked("seccomp", result)


def _give_up_privileges(library: Any) -> None:
    """Keep programs such as `sudo` from giving more rights, as filters and Landlock require."""
    _checked("prctl", library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def _protect_files(writable: Iterable[str]) -> None:
    """Let this process and its children write into some folders only, by Landlock.

    Args:
        writable: The folders.
    """
    library = _c_library()
    version = _checked(
        "landlock", library.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    )
    # The rights that only the folders are to give: all that this version of Landlock knows.
    rights = 0
    for first_version, added in _RIGHTS.items():
        if first_version <= version:
            rights |= added
    attributes = struct.pack("Q", rights)
    size = ctypes.c_size_t(len(attributes))
    rules = _checked("landlock", library.syscall(_CREATE_RULESET, attributes, size, 0))
    for folder in writable:
        _allow(library, rules, folder, rights)
    for device in _DEVICES:
        if os.path.exists(device):  # noqa: PTH110 - this file imports as little as it can
            _allow(library, rules, device, rights & (_WRITE_FILE | _TRUNCATE))
    _give_up_privileges(library)
    _checked("landlock", library.syscall(_RESTRICT_SELF, rules, 0))


def _allow(library: Any, rules: int, path: str, rights: int) -> None:
    """Add a folder or a file, and the rights in it, to the rules of Landlock."""
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", rights, opened)
    result = library.syscall(_ADD_RULE, rules, _BENEATH_PATH, rule, 0)
    os.close(opened)
    _checked("landlock", result)


if __name__ == "__main__":
    main()
