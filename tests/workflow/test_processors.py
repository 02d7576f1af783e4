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
    assert "run Haswell tests/library/training" in printed
    assert "run Zen tests/library/training" in printed
    assert "kernels of SkylakeX and avx512: NOT TESTED, this processor lacks avx512bw" in printed
    assert "run SkylakeX" not in printed
