"""For torchdata: a source node of whole batches.

    node = blksweep.torchdata.Node("/data/train", order="chunked", merge="device",
                                   shuffle="reservoir", window="10%", batch_size=256)
    loader = torchdata.nodes.Loader(node)   # each loop over it is the next epoch

A batch is (samples, labels, indices) as blksweep.torch.Dataset gives it.
"""
from __future__ import annotations

from typing import Any

from torchdata.nodes import BaseNode

from .loader import Loader
from .torch import tensors_of


class Node(BaseNode):
    """Options are those of blksweep.Loader; rank and world_size for several processes."""

    def __init__(self, data: Any, **options: Any):
        super().__init__()
        self._loader, self._batches = Loader(data, **options), None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is not None:
            self._loader.load_state_dict(initial_state)
        self._batches = iter(self._loader)

    def next(self) -> tuple:
        return tensors_of(next(self._batches))

    def get_state(self) -> dict[str, Any]:
        return self._loader.state_dict()
