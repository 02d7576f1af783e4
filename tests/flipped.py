"""Damage to files."""

from pathlib import Path


def flip_bit(path: Path, position: int | None = None) -> None:
    """Flip the last bit of a byte: of the one in the middle, unless a position is given."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if position is None else position] ^= 1
    path.write_bytes(content)
