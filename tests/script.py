"""A script of the workflow, run in this process as Snakemake runs it in one of its own."""

import logging
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from snakemake.iocontainers import Namedlist

from conftest import ROOT


def files_of(named: dict[str, Any]) -> Namedlist:
    """The files of a rule, one after the other, and by name: one, or several."""
    files = Namedlist()
    for name, value in named.items():
        start = len(files)
        several = not isinstance(value, str | Path)
        files.extend(value if several else [value])
        files._set_name(name, start, len(files) if several else None)
    return files


def run_script(
    script: str, log: Path, input: dict[str, Any], output: dict[str, Any], params: dict[str, Any], **resources: Any
) -> None:
    """Run workflow/scripts/{script}.py with these values of `snakemake`."""
    named = {"output": output, "params": params, "wildcards": {}, "resources": resources}
    named = {name: Namedlist(fromdict=values) for name, values in named.items()}
    named["input"] = files_of(input)
    log.parent.mkdir(parents=True, exist_ok=True)
    snakemake = SimpleNamespace(rule=script, log=[str(log)], threads=1, **named)
    root, torch_threads = logging.getLogger(), torch.get_num_threads()
    handlers, level = root.handlers, root.level
    root.handlers = []  # a job closes those that it finds
    try:
        runpy.run_path(str(ROOT / "workflow/scripts" / f"{script}.py"), init_globals={"snakemake": snakemake})
    except SystemExit as error:
        raise RuntimeError(log.read_text(encoding="utf-8")) from error
    finally:
        root.handlers = handlers
        root.setLevel(level)
        torch.set_num_threads(torch_threads)
