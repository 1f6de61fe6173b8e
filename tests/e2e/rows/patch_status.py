"""A new member of an enum, put in after the import, and a use of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rows.witness import seen

if TYPE_CHECKING:
    from collections.abc import Callable

NAME, NUMBER = "WAITING_FOR_A_ROW", 99


def add_member(module: Any) -> Callable[[], None]:
    """As docs/targets.md shows it."""
    status = module.RequestStatus
    member = int.__new__(status, NUMBER)
    member._name_, member._value_ = NAME, NUMBER
    status._member_map_[NAME] = status._value2member_map_[NUMBER] = member
    status._member_names_.append(NAME)
    type.__setattr__(status, NAME, member)

    def undo() -> None:
        del status._member_map_[NAME], status._value2member_map_[NUMBER]
        status._member_names_.remove(NAME)
        type.__delattr__(status, NAME)

    return undo


def finished_reason(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """The member is one like any other."""
    from vllm.v1.request import RequestStatus

    member = RequestStatus(NUMBER)
    assert member is RequestStatus.WAITING_FOR_A_ROW
    assert member in list(RequestStatus)
    seen("enum-member", str(member))
    return wrapped(*args, **kwargs)
