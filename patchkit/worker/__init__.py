"""
Patches for the processes that hold the model: none by now.

What workers have needed so far begins before a process is a worker: the device backend is imported
right after torch, and Ray's actors carry patchkit before their class is loaded. Those rows are in
`patchkit.platform`, for every role. A row comes here with a fault of vLLM that was seen in a worker
on hardware, and goes with its sunset. examples/guide/distributed is what such a pack looks like.
"""

from patchkit.rows.declaration import Patch

PATCHES: tuple[Patch, ...] = ()
