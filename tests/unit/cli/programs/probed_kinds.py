"""Calls every target of `probed_upstream` a number of times of its own."""

import asyncio

import probed_upstream as upstream
from probed_upstream import plain

for _ in range(4):
    plain(1)
upstream.decorated(1)
for _ in range(3):
    upstream.also_decorated(1)
for _ in range(5):
    upstream.cached(1)


async def main():
    await upstream.coroutine()
    await upstream.coroutine()


asyncio.run(main())
for _ in range(6):
    list(upstream.generator())
child = upstream.Child(7)
for _ in range(2):
    child.inherited()
for _ in range(3):
    upstream.Sibling().inherited()
for _ in range(8):
    child.method()
child.overridden()
upstream.Child.made()
upstream.Child.helper()
upstream.Child.helper()
for _ in range(9):
    child.size  # noqa: B018
    child.weight  # noqa: B018
for _ in range(2):
    upstream.Point(1)
upstream.First()
for _ in range(4):
    upstream.Second()
upstream.Plain()
print("computed", plain(1), child.weight, upstream.decorated(3))
