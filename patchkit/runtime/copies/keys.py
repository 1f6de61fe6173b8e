"""Repoints keys of dicts: what looks an entry up by a repointed name has to find it."""

from typing import Any


class KeyOwner:
    """A key of a dict, as an owner whose only item is that key.

    Args:
        holder: The dict.
        key: One of its keys, by identity.
        name: The dict, for messages.
    """

    def __init__(self, holder: dict[Any, Any], key: Any, name: str) -> None:
        self._holder = holder
        self._key = key
        self.__name__ = name

    def __getitem__(self, step: object) -> Any:
        """Return the key that was last put there.

        Args:
            step: Anything: there is but one item.

        Raises:
            KeyError: The dict has it no more.
        """
        for key in tuple(self._holder):
            if key is self._key:
                return key
        raise KeyError(step)

    def __setitem__(self, step: object, key: Any) -> None:
        """Put another key in its place.

        Args:
            step: Anything: there is but one item.
            key: The new key.

        Raises:
            KeyError: The dict does not have the key any more.
            ValueError: The dict has an equal key.
            TypeError: The new key is not hashable.
        """
        current = self[step]
        replace_key(self._holder, current, key)
        self._key = key


def replace_key(holder: dict[Any, Any], old: Any, new: Any) -> None:
    """Replace a key of a dict; the order of its items stays as it is.

    Args:
        holder: The dict, which is changed in place, as others may have it, too.
        old: A key of it, by identity.
        new: What comes in its place.

    Raises:
        KeyError: The dict does not have the key.
        ValueError: The dict has a key that is equal to the new one.
        TypeError: The new key is not hashable.
    """
    if new in holder:
        raise ValueError("it has an equal key")
    keys = list(holder)
    position = next((number for number, key in enumerate(keys) if key is old), None)
    if position is None:  # another thread has taken it out
        raise KeyError(old)
    following = keys[position + 1 :]
    # What follows is taken out and put back, which keeps the order.
    old_keys = [old, *following]
    new_keys = [new, *following]
    # In C from end to end, so that no other thread finds a key missing meanwhile.
    values = map(holder.pop, old_keys)
    holder.update(zip(new_keys, values, strict=True))
