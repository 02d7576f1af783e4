"""The bytes of tensors that live at once."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Held(TorchDispatchMode):
    """Counts the bytes of all tensors that live, and the most that lived at once."""

    def __init__(self):
        super().__init__()
        self.sizes, self.now, self.most = {}, 0, 0

    def hold(self, tensor):
        storage = tensor.untyped_storage()
        if (key := storage._cdata) not in self.sizes:
            self.sizes[key] = storage.nbytes()
            self.now += storage.nbytes()
            self.most = max(self.most, self.now)
            weakref.finalize(storage, self.let_go, key)

    def let_go(self, key):
        self.now -= self.sizes.pop(key)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.hold(tensor)
        return result
