"""Does patchkit hold on this machine? Real engines, on its accelerators or on simulated ones."""
