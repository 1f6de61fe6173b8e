from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.settings import PipSettings
from patchkit.upstream.reading.web import Web
from upstream.shops import WHEEL

if TYPE_CHECKING:
    from upstream.shops import Customer


@pytest.mark.parametrize("behaviour", ["other", "long"])
def test_another_part_than_was_asked_for(buyer: Customer, behaviour: str) -> None:
    """Neither from the end nor from within is it taken for what was asked for."""
    buyer.shop.files["a.whl"] = bytes(range(200))
    web = Web(PipSettings(retries=0))
    content = web.content(f"{buyer.shop.url}/files/a.whl")
    assert content.tail(5) == (bytes(range(195, 200)), 200)
    assert content.tail(500) == (bytes(range(200)), 200)
    assert content.fetch([(3, 7)]) == [bytes(range(3, 7))]
    buyer.shop.behaviours[""] = behaviour
    with pytest.raises(UpstreamError, match="sends"):
        content.tail(5)
    with pytest.raises(UpstreamError, match="sends"):
        content.fetch([(3, 7)])
    web.close()


def test_what_is_larger_than_it_may_be(buyer: Customer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page, and a file that has to come whole, have a limit."""
    buyer.shop.files[WHEEL.format("1.0")] = bytes(3 << 20)
    buyer.shop.behaviours[""] = "whole"
    web = Web(PipSettings())
    with pytest.raises(UpstreamError, match="has more than 10 bytes"):
        web.get(f"{buyer.shop.url}/simple/up/", {}, 10)
    monkeypatch.setattr("patchkit.upstream.reading.web.MAX_DOWNLOAD", 1 << 20)
    with (
        pytest.raises(UpstreamError, match="more than 1,048,576 bytes"),
        web.download(f"{buyer.shop.url}/files/{WHEEL.format('1.0')}", None),
    ):
        pass
    web.close()
