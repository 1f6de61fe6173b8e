from up import lib

MINE = []
MINE.append(1)


def m(self):
    lib.LIST.append(1)


lib.C.m = m
