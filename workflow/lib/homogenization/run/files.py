"""Files of the workflow: they are written in a hidden folder and then renamed, so a reader finds none in part."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any


@contextmanager
def written_together(folder: str | Path, names: Sequence[str], shared: bool = False) -> Iterator[Path]:
    """Yield a hidden folder in `folder` for the files `names`; on success, move all of them to `folder`.

    What a killed attempt left is removed, unless several processes may write the files at once (`shared`).
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    for earlier in [] if shared else Path(folder).glob(f".{escape(names[0])}.*"):
        rmtree(earlier, ignore_errors=True)
    with TemporaryDirectory(dir=folder, prefix=f".{names[0]}.", ignore_cleanup_errors=True) as partial:
        yield Path(partial)
        for name in names:
            os.replace(Path(partial, name), Path(folder, name))


@contextmanager
def written_whole(path: str | Path, shared: bool = False) -> Iterator[Path]:
    """Yield a path to write to; on success, it becomes `path`."""
    path = Path(path)
    with written_together(path.parent, [path.name], shared) as partial:
        yield partial / path.name


def write_text(text: str, path: str | Path) -> None:
    """Write `text` as UTF-8, whole."""
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(value: Any, path: str | Path) -> None:
    """Write `value` as JSON with sorted keys, whole."""
    write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", path)


def read_json(path: str | Path) -> Any:
    """Read a JSON file that this workflow made."""
    return json.loads(Path(path).read_bytes())
