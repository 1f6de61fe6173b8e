from up import kinds, lib

for number, (owner, name) in enumerate(
    [(lib, "LIMIT"), (lib.C, "size"), (kinds, "EXTRA")]
):
    setattr(owner, name, number * 100)
