"""Does patchkit hold on this machine?"""
