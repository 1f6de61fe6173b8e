import collections, os, threading, types


class Flag:
    kept = {"on": False, "name": "ieee"}

    def __get__(self, owner, kind):
        return self.kept["on"]

    def __set__(self, owner, value):
        self.kept["on"] = bool(value)


class Backend(types.ModuleType):
    benchmark = Flag()


backend = Backend("backend")


class Matmul:
    def __getattr__(self, name):
        if name == "allow":
            return Flag.kept["on"]
        if name == "precision":
            return "".join(list(Flag.kept["name"]))
        raise AttributeError(name)

    def __setattr__(self, name, value):
        Flag.kept["on" if name == "allow" else "name"] = value


matmul = Matmul()


class Holder:
    def __init__(self):
        self.__dict__["held"] = {"weight": [1]}

    def __getattr__(self, name):
        try:
            return self.__dict__["held"][name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self.held[name] = value

    def __delattr__(self, name):
        del self.held[name]


holder = Holder()


class Meta(type):
    _limit = 1

    @property
    def limit(cls):
        return Meta._limit

    @limit.setter
    def limit(cls, value):
        Meta._limit = value


class C(metaclass=Meta): ...


class Base: ...


class Child(Base): ...


class Other(Base): ...


class Local(threading.local):
    mode = "thread"


local = Local()


class Checked(dict):
    def __setitem__(self, key, value):
        dict.__setitem__(self, key, ("checked", value))


registry = Checked()
dict.__setitem__(registry, "a", [1])


class Log:
    kept = ["a"]

    def __getattr__(self, name):
        if name == "last":
            return self.kept[-1]
        raise AttributeError(name)

    def __setattr__(self, name, value):
        self.kept.append(str(value) + str(len(self.kept)))


log = Log()
chain = collections.ChainMap({}, {"k": "below"})
