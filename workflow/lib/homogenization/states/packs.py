"""Packs of whole reviews for forward passes of a bounded number of tokens, which shrinks when memory runs out.

On the CPU every review has a pass to itself: a core gains nothing from more rows, and the kernels of matrix products
depend on their number, so the last bits of a review would depend on its neighbours.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch

from homogenization.models.devices import ran_out_of_memory
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress

logger = logging.getLogger(__name__)


def pack_reviews(lengths: Sequence[int], token_budget: int) -> list[range]:
    """Group the reviews, in order, into packs of at most `token_budget` tokens.

    No review is split, moved or padded; one that is longer than the budget has a pack to itself.

    Args:
        lengths: number of tokens of each review, at least 1.
        token_budget: largest number of tokens in a pack, at least 1.

    Returns:
        The indices of the reviews of each pack; together, in order, they are the indices of all reviews.
    """
    packs: list[range] = []
    first, n_tokens = 0, 0
    for index, length in enumerate(lengths):
        if index > first and n_tokens + length > token_budget:
            packs.append(range(first, index))
            first, n_tokens = index, 0
        n_tokens += length
    if lengths:
        packs.append(range(first, len(lengths)))
    return packs


def run_packs(
    device: torch.device,
    lengths: Sequence[int],
    token_budget: int,
    run_pack: Callable[[range], None],
    shown: bool = True,
) -> int:
    """Call `run_pack` with the reviews of each pack, in order; on the CPU, with one review at a time.

    When a pass runs out of memory, the token budget is halved until it is below the pass's number of tokens, and the
    reviews from this pass on are packed again.

    Args:
        device: device of the model, for messages and to release the memory of a failed pass.
        lengths: number of tokens of each review.
        token_budget: largest number of tokens in a pass; a longer review has a pass to itself.
        run_pack: function that runs one pass. If it runs out of memory, the next call must be able to overwrite all
            that it left behind.
        shown: whether the log shows how many tokens are through; not where `run_pack` shows its own progress.

    Returns:
        The token budget of the last pass.

    Raises:
        HomogenizationError: a single review does not fit into memory.
    """
    packs = pack_reviews(lengths, token_budget if gains_from_packs(device) else 1)
    with progress(sum(lengths), "tokens") if shown else nullcontext(lambda _n_tokens: None) as advance:
        while packs:
            pack = packs.pop(0)
            n_tokens = sum(lengths[pack.start : pack.stop])
            if _fits(run_pack, pack):
                advance(n_tokens)
                continue
            if device.type == "cuda":
                torch.cuda.empty_cache()
            if len(pack) == 1:
                raise HomogenizationError(
                    f"token_budget: a pass of {n_tokens} tokens does not fit into the memory of "
                    f"{device}. Lower token_budget, or max_tokens if one review is that long."
                )
            too_large = token_budget
            while token_budget >= n_tokens:
                token_budget //= 2
            logger.warning(
                "memory ran out in a pass of %d tokens: token_budget goes from %d down to %d for the rest of the job",
                n_tokens,
                too_large,
                token_budget,
            )
            rest = pack_reviews(lengths[pack.start :], token_budget)
            packs = [range(pack.start + smaller.start, pack.start + smaller.stop) for smaller in rest]
    return token_budget


def gains_from_packs(device: torch.device) -> bool:
    """Whether passes over several reviews take less time than passes over each."""
    return device.type != "cpu"


def _fits(run_pack: Callable[[range], None], pack: range) -> bool:
    """Run one pass; False if memory ran out, with all tensors of the pass released."""
    try:
        run_pack(pack)
    except RuntimeError as error:
        if not ran_out_of_memory(error):
            raise
        logger.info("%s", str(error))  # text only: a record with the error would keep the tensors of its frames
        return False
    return True
