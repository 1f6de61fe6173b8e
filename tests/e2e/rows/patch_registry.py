"""The entry of a model: vLLM imports the class only where it is needed."""

from vllm.model_executor.models.registry import _LazyRegisteredModel

ENTRY = _LazyRegisteredModel(module_name="rows.llama", class_name="RowsLlama")
