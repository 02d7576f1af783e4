"""A model reads reviews, one at a time: the source of hidden states, and of whatever else its passes show."""

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from homogenization.run.progress import progress
from homogenization.states.long_texts import Texts, tokens_read
from homogenization.states.model import LanguageModel
from homogenization.states.network import findings
from homogenization.states.stream import Contents, StoreShape, chosen_layers


class Reading:
    """Reviews of one variant that a model reads.

    Attributes:
        model: language model that reads.
        identity: `model`, `variant` and `shard`.
        contents: contents of a store of the states.
        shape, review_ids, tokens: those of `contents`: what is read.
        attributes: provenance of the model, and `identity`.
        n_blocks, review_offsets: as in a store.
    """

    def __init__(
        self,
        model: LanguageModel,
        texts: Texts,
        identity: Mapping[str, str],
        *,
        record_attention: bool,
        layers: Sequence[int] | None = None,
        dtype: str = "auto",
    ) -> None:
        """Tokenize the texts, and find out what the architecture does.

        Args:
            model: language model that reads.
            texts: reviews, with their originals.
            identity: `model`, `variant` and `shard`, for provenance and messages.
            record_attention: whether to record the attention that each token receives.
            layers: layers of the residual stream that are stored, 0 before the first block, l after block l, -1
                after the last; None for all.
            dtype: dtype of a store: float32, float16, bfloat16, or auto for the model's own.

        Raises:
            HomogenizationError: the architecture can't be honoured, no original is short enough, or the model lacks a
                layer of `layers`.
        """
        self._started = self._began = self._read_through = time.perf_counter()
        self.model, self.identity = model, dict(identity)
        transformer = model.transformer
        stored_layers = chosen_layers(layers, transformer.n_blocks, identity.get("model", transformer.architecture))
        self.review_ids, self.tokens = tokens_read(model, texts)
        self._n_left_out = len(texts.review_ids) - len(self.review_ids)
        found = findings(transformer)
        self.shape = StoreShape(transformer.n_blocks, transformer.width, *found, record_attention, stored_layers)
        self.attributes, self.n_blocks = {**model.provenance, **identity}, transformer.n_blocks
        self.review_offsets = self.tokens.review_offsets
        dtype = model.provenance["dtype"] if dtype == "auto" else dtype
        self.contents = Contents(self.shape, self.review_ids, self.tokens, self.attributes, dtype)

    @classmethod
    def of_job(cls, model: LanguageModel, inputs: Any, params: Any, **options: Any) -> "Reading":
        """The reviews that a job reads.

        Args:
            model: language model that reads.
            inputs: files: `variant` and `original`.
            params: parameters of the rule: `model`, the entry; `variant`; `shard`.
            options: keyword arguments of `Reading`.
        """
        identity = {"model": params.model["name"], "variant": params.variant, "shard": params.shard}
        texts = Texts.of_files(inputs.variant, inputs.original)
        return cls(model, texts, identity, **options)

    def each_review(self, run_pass: Callable[[int, Sequence[int]], None]) -> None:
        """Call `run_pass` with the number of each review, in order, and its token ids."""
        self._began = time.perf_counter()
        with progress(len(self.tokens.token_ids), "tokens") as advance:
            for review, token_ids in enumerate(self.tokens.by_review):
                run_pass(review, token_ids)
                advance(len(token_ids))
        self._read_through = time.perf_counter()

    def record(self) -> dict[str, Any]:
        """The run record, once all is written.

        Returns:
            `identity`, n_reviews and n_tokens (as read), n_left_out (reviews that are too long), max_tokens,
            seconds_total, seconds_forward (all passes), seconds_write (what follows), tokens_per_second (over the
            total), peak_memory_mb (of the process), peak_device_memory_mb (of the CUDA device, or None), device, dtype
            of the model and weights (where they come from).
        """
        ended = time.perf_counter()
        n_tokens, total = len(self.tokens.token_ids), ended - self._started
        return {
            **self.identity,
            "n_reviews": len(self.review_ids),
            "n_tokens": n_tokens,
            "n_left_out": self._n_left_out,
            "max_tokens": self.model.max_tokens,
            "seconds_total": total,
            "seconds_forward": self._read_through - self._began,
            "seconds_write": ended - self._read_through,
            "tokens_per_second": n_tokens / total,
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
            "peak_device_memory_mb": torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_initialized() else None,
            "device": str(self.model.transformer.device),
            "dtype": self.model.provenance["dtype"],
            "weights": self.model.provenance.get("weights"),
        }
