"""A file that a job adds each finished piece of work to, so that its next attempt goes on from there."""

import io
import logging
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import numpy as np

from homogenization.run.files import full_disk_named

logger = logging.getLogger(__name__)

_DIGEST, _LENGTH = 16, 8  # bytes before each piece


class Journal:
    """Pieces of work by their keys: arrays that outlive the process as soon as `put` returns.

    The file stands beside the output, where Snakemake leaves it when a job fails. Each piece has a checksum: what a job
    that was killed has half written is cut off, with all that follows. One process writes to it at a time.

    Args:
        path: the file; it need not exist.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._places: dict[tuple[str, ...], int] = {}
        end = 0
        if self._path.exists():
            with self._path.open("rb+") as file:
                while (piece := _next_piece(file)) is not None:
                    self._places[_key(piece)] = end
                    end = file.tell()
                file.truncate(end)
            logger.info("%d pieces of an attempt that did not end are in %s", len(self._places), self._path)

    def __contains__(self, key: tuple[str, ...]) -> bool:
        return key in self._places

    def get(self, key: tuple[str, ...]) -> dict[str, np.ndarray]:
        """The arrays of a piece."""
        with self._path.open("rb") as file:
            file.seek(self._places[key])
            piece = _next_piece(file)
        return {name: array for name, array in _arrays(piece).items() if name != "key"}

    def put(self, key: tuple[str, ...], arrays: Mapping[str, np.ndarray]) -> None:
        """Add a piece.

        Args:
            key: its name, with a hash of all that it depends on.
            arrays: numbers and texts, under other names than `key`.

        Raises:
            HomogenizationError: the disk or the quota is full.
        """
        content = io.BytesIO()
        np.savez(content, key=np.array(key), **arrays)
        piece = content.getvalue()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with full_disk_named(self._path, self._path.parent), self._path.open("ab") as file:
            self._places[key] = file.tell()
            file.write(len(piece).to_bytes(_LENGTH, "little") + blake2b(piece, digest_size=_DIGEST).digest() + piece)

    def remove(self) -> None:
        """Remove the file, since the output is written."""
        self._path.unlink(missing_ok=True)
        self._places.clear()


def _next_piece(file: io.BufferedIOBase) -> bytes | None:
    """The content of the piece that begins here; None at the end, or where it is damaged."""
    length, digest = int.from_bytes(file.read(_LENGTH), "little"), file.read(_DIGEST)
    piece = file.read(min(length, os.fstat(file.fileno()).st_size))
    return piece if piece and blake2b(piece, digest_size=_DIGEST).digest() == digest else None


def _arrays(piece: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(piece), allow_pickle=False) as arrays:
        return dict(arrays)


def _key(piece: bytes) -> tuple[str, ...]:
    with np.load(io.BytesIO(piece), allow_pickle=False) as arrays:
        return tuple(arrays["key"].tolist())
