"""A class in place of one that many modules import by name."""

from __future__ import annotations

from vllm.v1 import request

from rows.witness import seen


class Request(request.Request):  # type: ignore[misc, unused-ignore]
    """Tells when it is made; `super()` and class methods work as ever."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        seen("whole-class", type(self).from_engine_core_request.__self__ is Request)
