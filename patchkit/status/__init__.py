"""Many journals, one picture: what is applied in every process, and what was not reached."""

from patchkit.status.journals import read_directory
from patchkit.status.picture import Picture, draw
from patchkit.status.process_status import PatchStatus, ProcessStatus

__all__ = ["PatchStatus", "Picture", "ProcessStatus", "draw", "read_directory"]
