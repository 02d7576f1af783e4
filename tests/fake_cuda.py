"""A CUDA device without a GPU: its tensors say that they lie on CUDA, and the CPU computes their numbers.

Inside `FakeCuda()`, tensors of two devices meet where torch lets them meet and fail where torch does; the operations
that would launch kernels are counted; and every transfer is noted with the function of the library that asked for it.
Unlike torch's own fake tensors, these have numbers: code that branches on them runs, and what comes out can be compared
with the CPU.

Streams and events are there in name alone: copies are made at once. Pinned memory is other memory. The allocator,
backward passes and the kernels themselves are not there.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from unittest.mock import MagicMock, patch

import numpy as np
import torch
from accelerate.hooks import AlignDevicesHook, add_hook_to_module
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel

from homogenization.interventions.changes import _shared
from homogenization.states.attention import _causal_bias

aten = torch.ops.aten
CPU, CUDA_0, CUDA_1 = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)
_LIBRARY = "/workflow/lib/homogenization/"
_TO_ANOTHER_DEVICE = {aten._to_copy.default, aten.copy_.default}
_INDEXED = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
# what CUDA can and the CPU cannot
_ON_CPU = {aten.histc.default: lambda counted, *bins: aten.histc(counted.float(), *bins).to(counted.dtype)}
_ALLOCATIONS = ("aten::empty", "aten::new_empty")


def forget_uploads() -> None:
    """Drop what the library has put on a device for further passes."""
    _causal_bias.cache_clear()
    _shared.cache_clear()


class FakeCudaTensor(Tensor):
    """A tensor whose device is CUDA; its numbers are in `value`, on the CPU."""

    value: Tensor

    @staticmethod
    def __new__(cls, value: Tensor, device: torch.device) -> "FakeCudaTensor":
        other_mode = value.is_inference() != torch.is_inference_mode_enabled()
        with torch.inference_mode(value.is_inference()) if other_mode else nullcontext():
            made = Tensor._make_wrapper_subclass(
                cls, value.shape, value.stride(), value.storage_offset(), dtype=value.dtype, device=device
            )
        made.value = value
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(f"{func}: a fake CUDA tensor is used outside of FakeCuda()")

    def __repr__(self) -> str:
        return f"FakeCudaTensor({self.value!r}, device={self.device})"


class FakeCuda:
    """Context in which tensors may lie on `cuda:0` and `cuda:1`.

    Attributes:
        kernels: number of calls of each operation that launches at least one kernel.
        to_host: number of transfers to the host by (function of the library, kind): `copy` of a tensor and `number`
            (item(), bool(), a size that follows from numbers), which wait for the device; `copy beside` the passes; and
            `wait` for an event.
        uploads: number of copies from the host, by function of the library.
    """

    def __init__(self) -> None:
        self._contexts = ExitStack()
        self.kernels: Counter[str] = Counter()
        self.to_host: Counter[tuple[str, str]] = Counter()
        self.uploads: Counter[str] = Counter()

    def clear(self) -> None:
        """Forget what was counted."""
        for counted in (self.kernels, self.to_host, self.uploads):
            counted.clear()

    def __enter__(self) -> "FakeCuda":
        forget_uploads()  # what lies on another device, a GPU's own among them
        self._contexts.callback(forget_uploads)
        generator = torch.Generator
        self._contexts.enter_context(patch("torch.cuda._lazy_init", lambda: None))
        self._contexts.enter_context(patch("torch.cuda.get_device_capability", lambda device=None: (9, 0)))  # an H100's
        self._contexts.enter_context(patch("torch.Generator", lambda device=None: generator()))
        for name in ("Stream", "current_stream"):
            self._contexts.enter_context(patch(f"torch.cuda.{name}", lambda device=None: MagicMock()))
        self._contexts.enter_context(patch("torch.cuda.stream", lambda stream: nullcontext()))
        self._contexts.enter_context(patch("torch.Tensor.record_stream", lambda tensor, stream: None, create=True))
        self._contexts.enter_context(patch("torch.cuda.Event", self._event))
        self._contexts.enter_context(_Operations(self))
        self._contexts.enter_context(_Bindings(self))
        return self

    def __exit__(self, *error) -> None:
        self._contexts.close()

    def _event(self, **_: object) -> MagicMock:
        event, waited = MagicMock(), []

        def synchronize() -> None:
            if not waited:  # one that has passed costs nothing
                waited.append(True)
                self.to_host[_asked_by(), "wait"] += 1

        event.synchronize = synchronize
        return event

    def counts_indices(self, indexed: Tensor, indices: Sequence) -> None:
        """Check the indices of a tensor, and count what they transfer."""
        for index in indices:
            if isinstance(index, Tensor) and index.device not in (CPU, indexed.device):
                raise RuntimeError(
                    "indices should be either on cpu or on the same device as the indexed tensor "
                    f"({indexed.device}), not on {index.device}"
                )
            if not isinstance(indexed, FakeCudaTensor):
                continue
            if isinstance(index, Tensor | list | np.ndarray) and not isinstance(index, FakeCudaTensor):
                self.uploads[_asked_by()] += 1
            if isinstance(index, Tensor) and index.dtype == torch.bool:
                self.to_host[_asked_by(), "number"] += 1  # the size of what comes out


class _Operations(TorchDispatchMode):
    """Every operation of torch: checks the devices of its tensors, counts it, and has the CPU compute it."""

    def __init__(self, fake: FakeCuda) -> None:
        super().__init__()
        self._fake = fake

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves = list(_leaves((*args, *kwargs.values())))
        fakes = [leaf for leaf in leaves if isinstance(leaf, FakeCudaTensor)]
        asked = _device(kwargs.get("device"))
        if not fakes and (asked is None or asked.type == "cpu"):
            return func(*args, **kwargs)
        if func.overloadpacket is aten.to:  # a copy only where something differs
            with self:
                return func.decompose(*args, **kwargs)
        device = asked or self._device_of(func, args, leaves)
        out = _ON_CPU.get(func, func)(*map(_of_cpu, args), **{name: _of_cpu(value) for name, value in kwargs.items()})
        self._count(func, device, leaves, out, kwargs.get("non_blocking") or args[-1] is True)
        return out if device.type == "cpu" else _on_device(out, device, fakes)

    def _device_of(self, func, args: tuple, leaves: list) -> torch.device:
        """The device of what `func` gives, and the error of torch where its tensors lie on several."""
        if func is aten.copy_.default:
            return args[0].device
        if func in _INDEXED:
            self._fake.counts_indices(args[0], args[1])
            leaves = [args[0], *args[2:3]]
        return common_device(func, leaves)

    def _count(self, func, device: torch.device, leaves: list, out: object, beside: bool) -> None:
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if func in _TO_ANOTHER_DEVICE and tensors[-1].device != device:
            if tensors[-1].device.type == "cpu":
                self._fake.uploads[_asked_by()] += 1
                return
            if device.type == "cpu":
                self._fake.to_host[_asked_by(), "copy beside" if beside else "copy"] += 1
                return
        made = [leaf for leaf in _leaves((out,)) if isinstance(leaf, Tensor)]
        sized = torch.Tag.dynamic_output_shape in func.tags and func not in _INDEXED
        if tensors and (not made or sized):
            self._fake.to_host[_asked_by(), "number"] += 1
        held = {_of_cpu(tensor).untyped_storage().data_ptr() for tensor in tensors}
        written = func._schema.is_mutable
        new = any(one.untyped_storage().data_ptr() not in held for one in made)
        if (written or new) and not func.name().startswith(_ALLOCATIONS):
            self._fake.kernels[func.name().removeprefix("aten::")] += 1


class _Bindings(TorchFunctionMode):
    """Calls whose binding to Python asks a build with CUDA for a device, before anything is dispatched."""

    def __init__(self, fake: FakeCuda) -> None:
        super().__init__()
        self._fake = fake
        self._bindings = {
            Tensor.__getitem__: self._captured,
            Tensor.__setitem__: self._put,
            Tensor.new_tensor: _new_tensor,
            Tensor.contiguous: _contiguous,
            Tensor.copy_: aten.copy_,
            Tensor.__invert__: torch.bitwise_not,
            Tensor.nonzero: aten.nonzero,
            torch.nonzero: aten.nonzero,
            Tensor.__float__: lambda tensor: float(tensor.item()),
            Tensor.__int__: lambda tensor: int(tensor.item()),
            Tensor.__index__: lambda tensor: int(tensor.item()),
            Tensor.tolist: lambda tensor: tensor.cpu().tolist(),
            Tensor.numpy: _refused,
            Tensor.__array__: _refused,
            Tensor.data_ptr: lambda tensor: tensor.value.data_ptr(),
        }

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = {name: value for name, value in (kwargs or {}).items() if name != "pin_memory"}
        if func in (torch.tensor, torch.as_tensor):
            device = _device(kwargs.pop("device", None)) or getattr(args[0], "device", CPU)
            return (args[0] if isinstance(args[0], FakeCudaTensor) else func(*args, **kwargs)).to(device)
        if func in self._bindings and any(isinstance(leaf, FakeCudaTensor) for leaf in _leaves(args)):
            func = self._bindings[func]
        with torch._C._AutoDispatchBelowADInplaceOrView():  # these look for a device, too
            return func(*args, **kwargs)

    def _captured(self, tensor: Tensor, index: object) -> Tensor:
        self._fake.counts_indices(tensor, _parts(index))
        taken = tensor.value[_of_cpu(index)]
        if taken.untyped_storage().data_ptr() != tensor.value.untyped_storage().data_ptr():
            self._fake.kernels["index"] += 1
        return FakeCudaTensor(taken, tensor.device)

    def _put(self, tensor: Tensor, index: object, value: object) -> None:
        self._fake.counts_indices(tensor, _parts(index))
        if isinstance(value, Tensor) and value.device != tensor.device:
            advanced = any(isinstance(part, Tensor | list | np.ndarray) for part in _parts(index))
            if advanced and (value.device != CPU or value.dim() > 0):
                raise RuntimeError(f"values on {value.device} can't be put into a tensor on {tensor.device}")
            value = value.to(tensor.device)
        if isinstance(tensor, FakeCudaTensor):
            self._fake.kernels["index_put"] += 1
        _of_cpu(tensor)[_of_cpu(index)] = _of_cpu(value)


def _new_tensor(tensor: Tensor, data: object, dtype: torch.dtype | None = None, device: object = None) -> Tensor:
    return torch.tensor(data, dtype=dtype or tensor.dtype).to(device or tensor.device)


def _contiguous(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_contiguous() else tensor.clone(memory_format=torch.contiguous_format)


def _refused(tensor: Tensor, *_: object) -> None:
    raise TypeError(f"can't convert {tensor.device} device type tensor to numpy")


def common_device(what: object, leaves: list) -> torch.device:
    """The device of the tensors among `leaves`; those of the CPU without dimensions go with any.

    Raises:
        RuntimeError: they lie on several devices, as torch has it.
    """
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    found = {tensor.device for tensor in tensors if tensor.device != CPU or tensor.dim() > 0}
    if len(found) > 1:
        raise RuntimeError(
            f"{what}: expected all tensors to be on the same device, but found {sorted(map(str, found))}"
        )
    return found.pop() if found else CPU


def on_cuda(network: PreTrainedModel, split: bool = False) -> PreTrainedModel:
    """`network`, with its head, moved to `cuda:0`, in place and inside `FakeCuda()`; tied weights stay tied.

    With `split`, blocks from the second on, and what follows them, are on `cuda:1`, as accelerate shares them out.
    """
    base = network.base_model
    behind = {id(module) for name in ("layers", "norm") for module in getattr(base, name).modules()}
    behind -= {id(module) for module in (base.layers, *base.layers[0].modules())}
    moved: dict[int, torch.nn.Parameter] = {}
    for module in network.modules():
        device = CUDA_1 if split and id(module) in behind else CUDA_0
        for name, parameter in module._parameters.items():
            if parameter is not None:
                made = torch.nn.Parameter(FakeCudaTensor(parameter.detach(), device), requires_grad=False)
                module._parameters[name] = moved.setdefault(id(parameter), made)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = FakeCudaTensor(buffer, device)
    if split:
        for module in (*base.layers[1:], base.norm):
            add_hook_to_module(module, AlignDevicesHook(CUDA_1))
        for module in (base.layers[0], network.get_output_embeddings()):
            add_hook_to_module(module, AlignDevicesHook(CUDA_0))
        add_hook_to_module(network, AlignDevicesHook(CUDA_0, io_same_device=True))
    return network


def _on_device(out: object, device: torch.device, given: Sequence[FakeCudaTensor]) -> object:
    """`out` on the device; what was changed in place is the tensor that was given."""
    if isinstance(out, tuple | list):
        return type(out)(_on_device(one, device, given) for one in out)
    if not isinstance(out, Tensor):
        return out
    for one in given:
        if one.value is out:
            assert one.shape == out.shape, "its shape was changed in place"
            return one
    return FakeCudaTensor(out, device)


def _leaves(values: Iterable) -> Iterator:
    """What nested tuples and lists hold."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _leaves(value)
        else:
            yield value


def _device(asked: object) -> torch.device | None:
    if asked is None:
        return None
    device = torch.device(asked)
    return CUDA_0 if device.type == "cuda" and device.index is None else device


def _parts(index: object) -> tuple:
    return index if isinstance(index, tuple) else (index,)


def _of_cpu(value: object) -> object:
    """`value`, or what it holds, as the CPU has it."""
    if isinstance(value, FakeCudaTensor):
        return value.value
    if isinstance(value, torch.device):
        return CPU
    return type(value)(map(_of_cpu, value)) if type(value) in (tuple, list) else value


def _asked_by() -> str:
    """The innermost function of the library on the stack, as `package.module:function`."""
    frame = sys._getframe(1)
    while frame is not None:
        _, inside, path = frame.f_code.co_filename.partition(_LIBRARY)
        if inside:
            # a comprehension has a frame of its own up to Python 3.11
            name = re.sub(r"\.<\w+>", "", frame.f_code.co_qualname)
            return f"{path.removesuffix('.py').replace('/', '.')}:{name}"
        frame = frame.f_back
    return "no function of the library"
