from unittest import mock


def register():
    mock.patch.dict("up.lib.TABLE", {"new": 5}, a=9).start()
    mock.patch.multiple("up.lib", f=lambda a, b=0: "mocked", LIMIT=30).start()
