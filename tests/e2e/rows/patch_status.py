"""A new member of an enum, and a use of it."""

from __future__ import annotations

from typing import Any

from rows.witness import seen

NUMBER = 99


def finished_reason(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """The member is one like any other."""
    from vllm.v1.request import RequestStatus

    member = RequestStatus(NUMBER)
    assert member is RequestStatus.WAITING_FOR_A_ROW
    assert member in list(RequestStatus)
    seen("enum-member", str(member))
    return wrapped(*args, **kwargs)
