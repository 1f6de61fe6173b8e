"""Reads many journals into one picture: what is applied in every process, and what is not."""

from patchkit.analysis.status.journals import read_directory
from patchkit.analysis.status.picture import Picture, draw
from patchkit.analysis.status.process_status import PatchStatus, ProcessStatus

__all__ = ["PatchStatus", "Picture", "ProcessStatus", "draw", "read_directory"]
