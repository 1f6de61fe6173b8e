"""Many journals, one picture: what is applied in every process, and what was not reached."""

from patchkit.status.journals import PatchStatus, ProcessStatus, read_directory, read_journal
from patchkit.status.picture import Picture, draw

__all__ = ["PatchStatus", "Picture", "ProcessStatus", "draw", "read_directory", "read_journal"]
