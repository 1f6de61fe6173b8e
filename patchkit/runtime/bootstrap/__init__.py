"""The `.pth` that arms every process of an environment, and what `patchkit run` uses."""
