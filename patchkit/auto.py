"""Arms this process, and all that it starts, when it is imported."""

from patchkit.runtime.reach.arming import arm_as_asked

session = arm_as_asked()
