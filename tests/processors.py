"""The numeric tests with the kernels of other processors, one pair after the other: a part of `make test-long`.

OpenBLAS, torch and its oneDNN choose their kernels by the processor, and rounding follows. Three variables choose them
here, as a laptop, an older server and a machine with AVX-512 have them. Tests that reach no torch depend on OpenBLAS
alone: they run once with each of its kernels, those of this processor in `make test`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow/lib"))

from homogenization.run.code_hash import imported_names, reached  # noqa: E402

# OPENBLAS_CORETYPE, ATEN_CPU_CAPABILITY -> ONEDNN_MAX_CPU_ISA, and the instructions that all need. OpenBLAS stops a
# process that lacks them. On a processor with AMX, torch multiplies bfloat16 by oneDNN whatever its own capability is,
# and fails where that is below AVX-512 and oneDNN's is not.
PAIRS = {
    ("Haswell", "avx2"): ("AVX2", {"avx2", "fma"}),
    ("Zen", "default"): ("AVX2", {"avx2", "fma"}),
    ("SkylakeX", "avx512"): ("AVX512_CORE", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}),
}
CPUINFO = Path("/proc/cpuinfo")
FOLDERS = "claims consequences interventions measures metrics models states statistics tables training"
# libraries that compute with torch
TORCH = {"accelerate", "bert_score", "peft", "sentence_transformers", "spacy", "torch", "transformers"}
_SHARED = {"Zen": "Haswell"}  # kernels that the wheels of numpy and scipy have for a processor of another name
_IN_FORCE = """
import numpy, scipy.linalg, torch
from threadpoolctl import threadpool_info
print(*{pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"},
      torch.backends.cpu.get_cpu_capability())
"""


def lacking(needed: set[str], cpuinfo: str) -> list[str]:
    """The instructions that the processor lacks, by the text of /proc/cpuinfo."""
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    return sorted(needed - set(flags[1].split() if flags else ()))


def reaches_torch(test: Path) -> bool:
    """Whether a test file, a tool beside the tests that it imports, or a module of the library behind them names torch.

    Or may do so: a test or tool that imports modules by names in variables counts too.
    """
    files = _with_tools(test)
    if any("importlib.import_module" in imported_names(file) for file in files):
        return True
    modules = {module for file in files for module in reached(file)}
    return any(not TORCH.isdisjoint(_packages(file)) for file in files | modules)


def _packages(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imported_names(file)}


def _with_tools(test: Path) -> set[Path]:
    """A test file, and the modules beside the folders of tests that it imports, at any depth."""
    files, waiting = {test}, [test]
    while waiting:
        tools = {ROOT / "tests" / f"{name}.py" for name in _packages(waiting.pop())}
        new = {tool for tool in tools if tool.is_file()} - files
        files |= new
        waiting += new
    return files


def in_force(environment: dict[str, str]) -> tuple[list[str], str]:
    """The kernels of OpenBLAS and torch in a process of this environment, in lower case; and what it complained of."""
    loaded = subprocess.run([sys.executable, "-c", _IN_FORCE], env=environment, capture_output=True, text=True)
    return loaded.stdout.lower().split(), loaded.stderr


def main(pytest: list[str]) -> int:
    """Run the tests by the command `pytest` under each pair; 1 if any of them fails."""
    text, failed = CPUINFO.read_text() if CPUINFO.exists() else "", 0
    tests = [test for folder in FOLDERS.split() for test in sorted((ROOT / "tests/library" / folder).glob("test_*.py"))]
    of_torch = [test for test in tests if reaches_torch(test)]
    have_run = set(in_force(dict(os.environ))[0][:1])
    for (openblas, torch), (onednn, needed) in PAIRS.items():
        name = f"kernels of {openblas} and {torch}"
        if missing := lacking(needed, text):
            print(f"{name}: NOT TESTED, this processor lacks {', '.join(missing)}", flush=True)
            continue
        chosen = {"OPENBLAS_CORETYPE": openblas, "ATEN_CPU_CAPABILITY": torch, "ONEDNN_MAX_CPU_ISA": onednn}
        environment = {**os.environ, **chosen}
        found, complaint = in_force(environment)
        print(f"{name}; in force: {' '.join(found)}", flush=True)
        if found != [_SHARED.get(openblas, openblas).lower(), torch]:
            print(f"{name}: the libraries took others\n{complaint}", flush=True)
            failed = 1
            continue
        chosen_tests = of_torch if found[0] in have_run else tests
        print(
            f"{name}: {len(chosen_tests)} of {len(tests)} files; the others have run with these of OpenBLAS", flush=True
        )
        have_run.add(found[0])
        failed |= subprocess.run([*pytest, "--quiet", *map(str, chosen_tests)], env=environment).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
