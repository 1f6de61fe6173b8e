"""Lists what Python, pydantic, msgspec, torch, typing and ABC put on the classes that they make.

Names that releases of these packages share are told as there. Of what may come with another
release, or is there in some only, nothing is sure: it matches a pattern of `may_be_set`.
"""

import re

OF_BASE_MODEL = frozenset(
    {
        "__class_getitem__",
        "__class_vars__",
        "__copy__",
        "__deepcopy__",
        "__fields__",
        "__fields_set__",
        "__get_pydantic_core_schema__",
        "__get_pydantic_json_schema__",
        "__getattr__",
        "__getstate__",
        "__iter__",
        "__pretty__",
        "__private_attributes__",
        "__pydantic_complete__",
        "__pydantic_core_schema__",
        "__pydantic_custom_init__",
        "__pydantic_decorators__",
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_generic_metadata__",
        "__pydantic_init_subclass__",
        "__pydantic_parent_namespace__",
        "__pydantic_post_init__",
        "__pydantic_private__",
        "__pydantic_root_model__",
        "__pydantic_serializer__",
        "__pydantic_validator__",
        "__replace__",
        "__repr_args__",
        "__repr_name__",
        "__repr_recursion__",
        "__repr_str__",
        "__rich_repr__",
        "__setstate__",
        "_abc_caches_clear",
        "_abc_impl",
        "_abc_registry_clear",
        "_calculate_keys",
        "_copy_and_set_values",
        "_dump_registry",
        "_get_value",
        "_iter",
        "_setattr_handler",
        "construct",
        "copy",
        "dict",
        "from_orm",
        "json",
        "model_computed_fields",
        "model_config",
        "model_construct",
        "model_copy",
        "model_dump",
        "model_dump_json",
        "model_extra",
        "model_fields",
        "model_fields_set",
        "model_json_schema",
        "model_parametrized_name",
        "model_post_init",
        "model_rebuild",
        "model_validate",
        "model_validate_json",
        "model_validate_strings",
        "parse_file",
        "parse_obj",
        "parse_raw",
        "register",
        "schema",
        "schema_json",
        "update_forward_refs",
        "validate",
    }
)
"""Attributes of each class that derives from `BaseModel`, in every release 2 of pydantic."""
OF_TORCH_MODULE = frozenset(
    {
        "T_destination",
        "__call__",
        "__getattr__",
        "__setstate__",
        "_apply",
        "_call_impl",
        "_compiled_call_impl",
        "_get_backward_hooks",
        "_get_backward_pre_hooks",
        "_get_name",
        "_load_from_state_dict",
        "_maybe_warn_non_full_backward_hook",
        "_named_members",
        "_register_load_state_dict_pre_hook",
        "_register_state_dict_hook",
        "_replicate_for_data_parallel",
        "_save_to_state_dict",
        "_slow_forward",
        "_version",
        "_wrapped_call_impl",
        "add_module",
        "apply",
        "bfloat16",
        "buffers",
        "call_super_init",
        "children",
        "compile",
        "cpu",
        "cuda",
        "double",
        "dump_patches",
        "eval",
        "extra_repr",
        "float",
        "forward",
        "get_buffer",
        "get_extra_state",
        "get_parameter",
        "get_submodule",
        "half",
        "ipu",
        "load_state_dict",
        "modules",
        "mtia",
        "named_buffers",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "register_backward_hook",
        "register_buffer",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "register_load_state_dict_post_hook",
        "register_load_state_dict_pre_hook",
        "register_module",
        "register_parameter",
        "register_state_dict_post_hook",
        "register_state_dict_pre_hook",
        "requires_grad_",
        "set_extra_state",
        "set_submodule",
        "share_memory",
        "state_dict",
        "to",
        "to_empty",
        "train",
        "type",
        "xpu",
        "zero_grad",
    }
)
"""Attributes of each class that derives from `torch.nn.Module`."""
OF_PYDANTIC_DATACLASS = frozenset(
    {
        "__is_pydantic_dataclass__",
        "__pydantic_complete__",
        "__pydantic_config__",
        "__pydantic_core_schema__",
        "__pydantic_decorators__",
        "__pydantic_fields__",
        "__pydantic_serializer__",
        "__pydantic_validator__",
        "__signature__",
    }
)
"""Attributes of each class that a dataclass decorator of pydantic makes."""
OF_STRUCT = frozenset(
    {
        "__copy__",
        "__replace__",
        "__rich_repr__",
        "__signature__",
        "__struct_config__",
        "__struct_defaults__",
        "__struct_encode_fields__",
        "__struct_fields__",
    }
)
"""Attributes of each struct of msgspec."""
OF_TYPED_DICT = frozenset(
    {
        "__optional_keys__",
        "__required_keys__",
        "__total__",
    }
)
"""Attributes that a `TypedDict` has beside those of `dict`, in every Python."""
OF_ROOT_MODEL = OF_BASE_MODEL | {"__orig_bases__", "__parameters__"}
"""Attributes of each class that derives from `RootModel`, which is generic."""
_MAY_BE_SET = {
    "attr": re.compile(r"__attrs_\w+__"),
    "msgspec": re.compile(r"__struct_\w+__|__post_init__|__msgspec_\w+__"),
    "pydantic": re.compile(
        r"__pydantic_\w+__|__(config|validators|schema_cache|dataclass_transform|signature)__"
        r"|_collect_bases_data|root|_is_protocol"  # the last from `Generic`, up to Python 3.11
    ),
    "typing": re.compile(r"__\w+_keys__|__closed__|__extra_items__"),
}
"""What may stand on a class besides, by the package that makes it; releases differ in it."""
SET_BY_PYTHON = frozenset(dir(type)) | {
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__callable_proto_members_only__",
    "__args__",
    "__class_getitem__",
    "__classcell__",
    "__classdictcell__",
    "__closed__",
    "__deprecated__",
    "__dict__",
    "__doc__",
    "__extra_items__",
    "__final__",
    "__firstlineno__",
    "__hash__",
    "__match_args__",
    "__module__",
    "__non_callable_proto_members__",
    "__orig_bases__",
    "__orig_class__",
    "__override__",
    "__parameters__",
    "__protocol_attrs__",
    "__slotnames__",
    "__slots__",
    "__static_attributes__",
    "__type_params__",
    "__weakref__",
}
"""Attributes that Python, or `typing`, may set on a class that does not define them."""
SET_BY_ZOPE = frozenset({"__implemented__", "__provides__", "__providedBy__"})
"""Attributes that zope.interface sets on any class that it is asked about."""
_ON_EACH_CLASS = frozenset(
    {
        "__base__",
        "__bases__",
        "__basicsize__",
        "__dict__",
        "__dictoffset__",
        "__doc__",
        "__flags__",
        "__itemsize__",
        "__module__",
        "__mro__",
        "__name__",
        "__qualname__",
        "__text_signature__",
        "__weakrefoffset__",
    }
)
"""Attributes that are no methods, and that each class has as an instance of `type`."""
_METHODS_OF_TYPE = {name for name, method in vars(type).items() if callable(method)}
OF_TYPE = _ON_EACH_CLASS | (_METHODS_OF_TYPE - {*vars(object)})
"""What each class has as an instance of `type`, beside what `object` has."""
DATA_OF_CLASSES = frozenset(
    {
        "T_destination",
        "__abstractmethods__",
        "__annotations__",
        "__class_vars__",
        "__closed__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__doc__",
        "__extra_items__",
        "__match_args__",
        "__module__",
        "__optional_keys__",
        "__orig_bases__",
        "__parameters__",
        "__private_attributes__",
        "__required_keys__",
        "__signature__",
        "__slots__",
        "__total__",
        "_abc_impl",
        "_compiled_call_impl",
        "_field_defaults",
        "_fields",
        "_is_protocol",
        "_is_runtime_protocol",
        "_version",
        "call_super_init",
        "dump_patches",
        "model_computed_fields",
        "model_config",
        "model_fields",
    }
)
"""Attributes of classes that are no functions, of whatever package."""
SLOTS_OF_CLASSES = frozenset(
    {
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_private__",
        "__struct_config__",
        "__struct_defaults__",
        "__struct_encode_fields__",
        "__struct_fields__",
    }
)
"""Attributes of classes that lie in slots, of their objects or of their metaclass."""
STANDS_FOR = {
    "abc.ABCMeta": "abc.ABC",
    "enum.EnumMeta": "enum.Enum",
    "enum.EnumType": "enum.Enum",
}
"""For a metaclass of the standard library, a class that has what it puts on classes."""

CALLED_BY_METACLASS = frozenset({"msgspec.Struct", "typing.TypedDict"})
"""Classes whose metaclass has a `__call__` of its own, in place of that of `type`."""


def may_be_set(dotted: str, name: str) -> bool:
    """Whether a package puts a name on classes in some of its releases.

    Args:
        dotted: A class or decorator of the package, such as `pydantic.BaseModel`.
        name: The name of the attribute.
    """
    package = dotted.partition(".")[0]
    pattern = _MAY_BE_SET.get(package)
    return pattern is not None and bool(pattern.fullmatch(name))
