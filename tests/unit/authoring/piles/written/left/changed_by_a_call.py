from up import lib
from up.lib import C

table = lib.C.table
if table.setdefault(1, 2):
    pass
C.new = 1
