"""Seeded choices: a hash of the seed and of names decides, so that no choice depends on what else there is."""

from hashlib import blake2b


def seeded_hash(seed: int, *names: object, size: int = 16) -> bytes:
    """The BLAKE2b hash of "seed:name:…", `size` bytes. In the order of their hashes, names are shuffled."""
    return blake2b(":".join(map(str, (seed, *names))).encode(), digest_size=size).digest()
