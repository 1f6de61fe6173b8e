"""What the commands say, as plain data: gathered here, printed by `patchkit.report`."""
