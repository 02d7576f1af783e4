"""Seeded choices by a hash of seed and names: the choice for one item does not depend on the other items."""

from hashlib import blake2b


def seeded_hash(seed: int, *names: object, size: int = 16) -> bytes:
    """The BLAKE2b hash of "seed:name:…", `size` bytes. Sorting names by it shuffles them."""
    return blake2b(":".join(map(str, (seed, *names))).encode(), digest_size=size).digest()
