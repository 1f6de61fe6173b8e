from up import lib, user
from up.lib import C

count = 0
for owner in (lib.C, lib.D):
    count += 1
    owner.size = count


C.new = 1
