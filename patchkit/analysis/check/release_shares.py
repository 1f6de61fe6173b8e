"""Divides releases between this process and another one, so that both end at the same time."""

import threading


class ReleaseShares:
    """Says which of several releases this process looks into, and which the other one.

    This process goes forwards from the first release, and the other one backwards from the last.
    Each works on several at a time, side by side; whoever took all that are left would be busy with
    them long after the other one has ended. So this process has a share: the first half of those
    that no process has begun, and half of the rest again when it has finished that. The other one
    takes the rest, and, when it has nothing else to do, half of what is not begun of that share.

    Args:
        count: How many releases there are; they are numbered from 0.
    """

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._free = list(range(count))  # those that no process has begun
        self._share: set[int] = set()  # those of this process that are not finished
        self._answered: set[int] = set()  # those that the other process is done with
        self._is_closed = False
        with self._changed:
            self._divide()

    @property
    def left(self) -> int:
        """How many releases nobody has begun."""
        with self._changed:
            return len(self._free)

    def begin(self, number: int) -> bool:
        """Begin a release in this process, or wait until the other one is done with it.

        Threads of this process begin releases in order.

        Args:
            number: The number of the release.

        Returns:
            Whether this process has begun it, and calls `finish` at the end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_decided(number))
            if number not in self._free:
                return False
            self._free.remove(number)
            return True

    def finish(self, number: int) -> None:
        """Say that this process has finished a release.

        Args:
            number: The number of the release, which it has begun.
        """
        with self._changed:
            self._share.discard(number)
            if not self._share:
                self._divide()

    def take_last(self, *, is_idle: bool) -> int | None:
        """Take the last release that nobody has begun, for the other process.

        Args:
            is_idle: Whether the other process has nothing to do; only then, it may take one out of
                this process's share.

        Returns:
            Its number, which `answer` is to be called with; None if there is none for it now.
        """
        with self._changed:
            if not self._free:
                return None
            if self._free[-1] in self._share:
                if not is_idle:
                    return None
                self._share.difference_update(self._free[len(self._free) // 2 :])
            number = self._free.pop()
            if not self._share:
                self._divide()
            return number

    def answer(self, number: int) -> None:
        """Say that the other process is done with a release, whatever has come of it.

        Args:
            number: The number of the release, which it has taken.
        """
        with self._changed:
            self._answered.add(number)
            self._changed.notify_all()

    def close(self, *, abandon: bool = False) -> None:
        """Say that there is no other process, or none any more: what is left is for this one.

        Args:
            abandon: Whether nobody is to begin another release.
        """
        with self._changed:
            self._is_closed = True
            if abandon:
                self._free.clear()
            self._changed.notify_all()

    def _is_decided(self, number: int) -> bool:
        """Whether this process may begin a release, or need not."""
        if self._is_closed or number in self._answered:
            return True
        return number in self._free and number in self._share

    def _divide(self) -> None:
        """Make the first half of the free releases this process's share; the lock is held."""
        half = (len(self._free) + 1) // 2
        self._share.update(self._free[:half])
        self._changed.notify_all()
