import up.setters as module
from dataclasses import dataclass
from up.setters import (
    all_methods,
    beyond,
    by_callback,
    counted,
    deep,
    helper,
    Namespace,
    replaced,
)


def through(cls):
    helper(cls)
    return cls


def through_module(cls):
    module.helper(cls)
    return cls


def with_options(**options):
    def decorate(cls):
        module.deep(cls)
        return cls

    return decorate


def unknown(cls):
    by_callback(cls, lambda c: setattr(c, "more", 2))
    return cls


def registered(cls):
    names.append(cls)
    counted(Namespace())
    return cls


names = []


@helper
class Imported:
    def run(self): ...


@through
class Through:
    def run(self): ...


@through_module
class ThroughModule:
    def run(self): ...


@with_options(a=1)
class WithOptions:
    def run(self): ...


@beyond
class Beyond:
    def run(self): ...


@unknown
class Unknown:
    def run(self): ...


@registered
class Registered:
    def run(self): ...


@all_methods
class AllMethods:
    def run(self): ...


class Base:
    def __init_subclass__(cls):
        helper(cls)


class OfBase(Base):
    def run(self): ...


class ModuleBase:
    def __init_subclass__(cls):
        super().__init_subclass__()
        module.deep(cls)


class OfModuleBase(ModuleBase):
    def run(self): ...


class ReplacingBase:
    def __init_subclass__(cls):
        all_methods(cls)


class OfReplacingBase(ReplacingBase):
    def run(self): ...


class DataBase:
    def __init_subclass__(cls):
        dataclass(cls)

    def __init__(self): ...


class OfDataBase(DataBase):
    a: int
    b: int = 2


class FrozenBase:
    def __init_subclass__(cls):
        dataclass(frozen=True)(cls)

    def __init__(self): ...


class OfFrozenBase(FrozenBase):
    a: int


class Below:
    def run(self): ...


def set_below():
    Below.more = 3


def set_all():
    set_below()


set_all()


class NeverSet:
    def run(self): ...


def never_called():
    NeverSet.more = 3


class ByName:
    def run(self): ...


setattr(ByName, "run", replaced)


class ByNames:
    def run(self): ...


for name in ("run", "more"):
    setattr(ByNames, name, replaced)


class Assigned:
    def run(self): ...


Assigned.run = replaced
