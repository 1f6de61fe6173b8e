"""Arms this process, and all that it starts, when it is imported."""

from patchkit.runtime.reach.arming import arm

session = arm()
