"""Headers of GGUF files, also of damaged ones."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from homogenization.run.errors import HomogenizationError
from homogenization.run.secrets import first_line

_MAGIC = b"GGUF"
_MOST_ENTRIES = 2**22  # of an array in a header; the largest vocabularies have 300,000 tokens


class BoundedReader(gguf.GGUFReader):
    """The library's reader of headers, which ends where the file does.

    The library takes what lies beyond the end for numbers without bytes: of a count that is damaged, it never ends.
    """

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> np.ndarray:
        found = super()._get(offset, dtype, count, override_order)
        if len(found) < int(count):
            raise ValueError(f"it ends before the {count} numbers at byte {offset}")
        return found

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        if raw_type == gguf.GGUFValueType.ARRAY:
            n_entries = int(self._get(orig_offs + 4, np.uint64)[0])
            if n_entries > _MOST_ENTRIES:
                raise ValueError(f"an array of {n_entries} entries at byte {orig_offs}")
        return super()._get_field_parts(orig_offs, raw_type)


def header(path: Path, described: str, read: Callable[[Path], gguf.GGUFReader] = BoundedReader) -> gguf.GGUFReader:
    """The header of a GGUF file: its fields and its tensors, which lie within the file.

    Args:
        path: The file.
        described: Where it comes from, for messages.
        read: Reader of headers.

    Raises:
        HomogenizationError: it is damaged or cut short, has a tensor of an unknown type, or is no GGUF file.
    """
    with path.open("rb") as handle:
        if handle.read(len(_MAGIC)) != _MAGIC:
            raise HomogenizationError(f"{described} is no GGUF file: it does not begin with 'GGUF'.")
    try:
        return read(path)
    except Exception as error:  # the reader fails anywhere in a damaged file, in many ways
        unknown = re.search(r"(\d+)\)? is not a valid GGMLQuantizationType", str(error))
        if unknown:
            raise HomogenizationError(
                f"{described}: the quantisation number {unknown[1]} is not known here. Take a file in another one, "
                "such as Q8_0 or Q4_K_M, or fetch it again if it should be one of these."
            ) from error
        raise HomogenizationError(
            f"{described}: damaged or cut short, not a whole GGUF file ({first_line(error)}). Fetch it again."
        ) from error
