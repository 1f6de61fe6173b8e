"""Repoints keys of dicts.

In `TABLE[Config]`, code looks up by a class that it has imported. After that name is repointed,
the look-up must find the entry under the new class.
"""

from typing import Any


class KeyOwner:
    """An owner whose only item is a key of a dict, so that a key can be repointed like an item.

    Args:
        holder: The dict.
        key: One of its keys; it is found by identity, so that an equal object does not do.
        name: The name of the dict for messages.
    """

    def __init__(self, holder: dict[Any, Any], key: Any, name: str) -> None:
        self._holder = holder
        self._key = key
        self.__name__ = name

    def __getitem__(self, step: object) -> Any:
        """Return the key, if the dict still has it.

        Args:
            step: Not used, since there is only one item.

        Raises:
            KeyError: The dict does not have the key any more.
        """
        for key in tuple(self._holder):
            if key is self._key:
                return key
        raise KeyError(step)

    def __setitem__(self, step: object, key: Any) -> None:
        """Replace the key in the dict.

        Args:
            step: Not used, since there is only one item.
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
    """Replace a key of a dict, in place and without changing the order of the items.

    Args:
        holder: The dict.
        old: One of its keys; it is found by identity, so that an equal object does not do.
        new: The new key.

    Raises:
        KeyError: The dict does not have the key.
        ValueError: The dict has a key that is equal to the new one.
        TypeError: The new key is not hashable.
    """
    if new in holder:
        raise ValueError("it has an equal key")
    keys = list(holder)
    positions = [number for number, key in enumerate(keys) if key is old]
    if not positions:  # another thread has removed it
        raise KeyError(old)
    following = keys[positions[0] + 1 :]
    # To keep the order, all items after the key are removed and added again.
    old_keys = [old, *following]
    new_keys = [new, *following]
    # One call in C: no other thread runs in between and misses a key.
    values = map(holder.pop, old_keys)
    holder.update(zip(new_keys, values, strict=True))
