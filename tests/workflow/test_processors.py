"""The numeric tests under other processors' kernels: every pair is run or named as not tested."""

import sys

import pytest

import processors

CPUINFO = "processor\t: 0\nflags\t\t: fpu avx2 fma {}\nbugs\t:\n"
AVX512 = "avx512f avx512bw avx512dq avx512vl"


def test_an_instruction_is_a_whole_word_of_the_flags():
    _, needed = processors.PAIRS["SkylakeX", "avx512"]
    assert processors.lacking(needed, CPUINFO.format(AVX512)) == []
    assert processors.lacking(needed, CPUINFO.format("avx512f avx512bw avx512vl_x")) == ["avx512dq", "avx512vl"]
    assert processors.lacking({"avx2"}, "") == ["avx2"]


@pytest.mark.parametrize(("status", "returned"), [("", 0), ("raise SystemExit(1)", 1)])
def test_a_pair_that_the_processor_cannot_run_is_named_and_the_others_are_run(
    monkeypatch, capfd, tmp_path, status, returned
):
    """`pytest` is a stand-in, which says what it was given."""
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(CPUINFO.format(""))
    monkeypatch.setattr(processors, "CPUINFO", cpuinfo)
    monkeypatch.setattr(processors, "_IN_FORCE", "import os; print('Haswell', os.environ['ATEN_CPU_CAPABILITY'])")
    stand_in = f"import os, sys; print('run', os.environ['OPENBLAS_CORETYPE'], sys.argv[-1], flush=True); {status}"
    assert processors.main([sys.executable, "-c", stand_in]) == returned
    printed = capfd.readouterr().out
    last = max(processors.ROOT.glob("tests/library/training/test_*.py"))
    assert f"run Haswell {last}" in printed
    assert f"run Zen {last}" in printed
    assert "kernels of SkylakeX and avx512: NOT TESTED, this processor lacks avx512bw" in printed
    assert "run SkylakeX" not in printed


def test_what_reaches_torch_runs_with_each_pair_and_what_does_not_once_with_each_kernel_of_openblas(
    monkeypatch, capfd, tmp_path
):
    """This processor has the kernels of SkylakeX; Zen has those of Haswell."""
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(CPUINFO.format(AVX512))
    monkeypatch.setattr(processors, "CPUINFO", cpuinfo)
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)  # which a machine may set for all of its processes
    kernels = "{'Zen': 'Haswell'}.get(name := os.environ.get('OPENBLAS_CORETYPE', 'SkylakeX'), name)"
    in_force = f"import os; print({kernels}, os.environ.get('ATEN_CPU_CAPABILITY', 'avx512'))"
    monkeypatch.setattr(processors, "_IN_FORCE", in_force)
    stand_in = "import os, sys; print('run', os.environ['OPENBLAS_CORETYPE'], *sys.argv[1:], flush=True)"
    assert processors.main([sys.executable, "-c", stand_in]) == 0
    lines = (line.split() for line in capfd.readouterr().out.splitlines())
    run = {line[1]: set(line[2:]) for line in lines if line[0] == "run"}
    assert run["Zen"] == run["SkylakeX"] < run["Haswell"]
    library = processors.ROOT / "tests/library"
    assert {str(file) for file in library.glob("states/test_*.py")} <= run["Zen"]
    assert run["Haswell"] - run["Zen"] >= {str(library / "statistics/test_robust.py")}


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        ("import numpy\n", False),
        ("def test():\n    import torch.nn\n", True),
        ("from homogenization.statistics.doses import at_equal_kl\n", False),
        ("from homogenization.states.model import load_model\n", True),
        ("from tiny_models import save\n", True),
        ("from importlib import import_module\n", True),
    ],
)
def test_an_import_at_any_depth_reaches_torch(tmp_path, text, reaches):
    (tmp_path / "test_it.py").write_text(text)
    assert processors.reaches_torch(tmp_path / "test_it.py") == reaches
