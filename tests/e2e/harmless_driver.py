"""Objects that patches of every kind have changed, sent around; prints what each place sees."""

from __future__ import annotations

import copy
import inspect
import json
import multiprocessing
import os
import pickle
import typing

import acme_plain  # type: ignore[import-not-found]  # the test writes both
import acme_up  # type: ignore[import-not-found]
import ray

import patchkit.ray


def things() -> dict[str, object]:
    """What there is to send."""
    child = acme_up.Child(3)
    return {
        "function": acme_up.scale,
        "edited": acme_up.shift,
        "imported": acme_up.alias,
        "method": child.run,
        "instance": child,
        "class": acme_up.Child,
        "classmethod": acme_up.Child.make,
        "static": acme_up.Child.half,
        "replaced class": acme_up.Thing,
        "instance of it": acme_up.Thing(),
        "data": acme_up.Data(1),
        "enum": acme_up.Color.RED,
        "added": acme_up.added,
        "cached": acme_up.cached,
    }


def look(sent: dict[str, typing.Any]) -> dict[str, object]:
    """What the things that were sent do where they have arrived."""
    child, made = sent["instance"], sent["classmethod"](5)
    return {
        "function": sent["function"](2),
        "edited": sent["edited"](2),
        "imported": sent["imported"](2),
        "method": sent["method"](),
        "property": child.size,
        "inherited": isinstance(child, acme_up.Base)
        and issubclass(sent["class"], acme_up.Base),
        "classmethod": [made.run(), isinstance(made, sent["class"])],
        "static": sent["static"](8),
        "replaced class": [
            sent["replaced class"]().tell(),
            sent["instance of it"].tell(),
        ],
        "data": repr(sent["data"]),
        "enum": [sent["enum"] is acme_up.Color.RED, acme_up.Color("green").name],
        "added": sent["added"](),
        "entry": acme_up.TABLE["entry"](),
        "cached": [sent["cached"](2), sent["cached"].cache_info().maxsize],
    }


def from_a_spawned_child(data: bytes) -> dict[str, object]:
    """Unpickled by reference in a process that has imported nothing yet."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(look, (pickle.loads(data),))


def from_ray(sent: dict[str, object]) -> dict[str, object]:
    """By cloudpickle, as arguments of a task."""
    env_vars = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(
        log_to_driver=False,
        runtime_env=patchkit.ray.runtime_env({"env_vars": env_vars}),
    )
    seen: dict[str, object] = ray.get(
        ray.remote(num_cpus=0)(look).remote(sent), timeout=600
    )
    return seen


def shape(module: typing.Any) -> dict[str, object]:
    """What introspection says, which patches that change no signature leave as it is."""
    functions = [
        module.scale,
        module.shift,
        module.Child.run,
        module.Child.make,
        module.Child.half,
    ]
    return {
        "signatures": [str(inspect.signature(one)) for one in functions],
        "hints": [
            str(typing.get_type_hints(one)).replace(module.__name__, "module")
            for one in functions
        ],
        "names": [one.__qualname__ for one in functions],
        "docs": [inspect.getdoc(one) for one in functions],
        "functions": [
            inspect.isfunction(module.scale),
            inspect.ismethod(module.Child.make),
        ],
        "bases": [one.__name__ for one in module.Child.__mro__],
    }


def main() -> None:
    """Send them to everywhere."""
    sent = things()
    seen = {
        "here": look(sent),
        "copied": look(copy.deepcopy(sent)),
        "pickled": look(pickle.loads(pickle.dumps(sent))),
        "spawned": from_a_spawned_child(pickle.dumps(sent)),
        "ray": from_ray(sent),
        "shape": shape(acme_up),
        "plain shape": shape(acme_plain),
        "plain": acme_plain.scale(2),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
