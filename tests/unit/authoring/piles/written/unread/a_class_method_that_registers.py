from up import kinds, lib


class Hooks:
    @classmethod
    def register(cls):
        kinds.REGISTRY.register("mine", cls)
        lib.TABLE.update({"mine": 5}, a=6)

    def __repr__(self):
        return "hooks"


register = Hooks.register
