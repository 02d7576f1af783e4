"""Faults on real runs: each is named, nothing is lost, and the same command run again comes to the same results."""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import psutil
import pytest

from compare_runs import differences, hidden
from conftest import Project
from flipped import flip_bit

STORE = "results/states/tiny/front/001.zarr.zip"
SPECTRA = "results/spectra/tiny/front/001.parquet"
GEOMETRY = "results/geometry/tiny/front/001.parquet"
VARIANT = "results/variants/front/001.parquet"
METRICS = "results/tables/metrics.parquet"
PLACEMENT = "results/tables/placement.parquet"
WEIGHTS = "results/models/tiny/model.safetensors"


def remove(project: Project, *files: str) -> None:
    for file in files:
        (project.folder / file).unlink()


def same_results(project: Project, finished_run: Path) -> None:
    """Every file of the results is there, with the values of the undisturbed run, and no other file is."""
    assert differences(finished_run / "results", project.folder / "results") == []
    assert hidden(project.folder / "results") == []


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip_a_byte_of_a_chunk(store: Path) -> None:
    """Change one byte in the largest array of a store; its length and the zip's directory stay as they are."""
    with zipfile.ZipFile(store) as archive:
        chunk = max(archive.infolist(), key=lambda member: member.file_size)
    flip_bit(store, chunk.header_offset + chunk.file_size // 2)


def is_named_and_kept(printed: str, path: Path, damaged: bytes) -> None:
    """The message names the file and where it is now, and there it is, as it was."""
    aside = path.with_name(f"{path.name}.damaged")
    assert path.name in printed
    assert f"{aside.name}. Run the same command again" in printed
    assert not path.exists()
    assert aside.read_bytes() == damaged


@pytest.fixture
def full_disk(finished):
    """The results on a file system of their own with room for a small table and no more; states of a shard missing."""
    results, elsewhere = finished.folder / "results", finished.folder / "elsewhere"
    remove(finished, STORE, SPECTRA, METRICS)
    results.rename(elsewhere)
    results.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(results)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a file system needs root")
    try:
        shutil.copytree(elsewhere, results, dirs_exist_ok=True)
        disk = os.statvfs(results)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        subprocess.run(["mount", "-o", f"remount,size={used + 150_000}", str(results)], check=True)
        yield finished
    finally:
        subprocess.run(["umount", str(results)], check=True)


def test_a_disk_that_fills_up_is_named_and_more_room_heals_it(finished_run, full_disk):
    results = full_disk.folder / "results"
    printed = full_disk.fails("tables")
    assert f"{STORE}: the disk is full" in printed
    assert f"MB in {Path(STORE).parent}" in printed
    assert not (full_disk.folder / STORE).exists()
    assert hidden(results) == []
    subprocess.run(["mount", "-o", "remount,size=256m", str(results)], check=True)
    full_disk.make("tables")
    same_results(full_disk, finished_run)


@pytest.mark.parametrize("damage", [cut_short, empty, flip_a_byte_of_a_chunk])
def test_a_damaged_store_is_moved_aside_and_made_again(finished_run, finished, damage):
    """Two jobs find the damage at the same time: one moves the store, and both say what to do."""
    store = finished.folder / STORE
    damage(store)
    damaged = store.read_bytes()
    remove(finished, SPECTRA, GEOMETRY)
    printed = finished.fails("--keep-going", SPECTRA, GEOMETRY)
    is_named_and_kept(printed, store, damaged)
    assert f"{STORE}: damaged or cut short" in printed
    finished.make("--keep-going", SPECTRA, GEOMETRY)
    same_results(finished, finished_run)


def test_a_damaged_store_is_moved_aside_in_the_cache_of_snakemake(finished_run, finished, tmp_path):
    """What stayed there would be fetched again, and again be damaged."""
    cache = tmp_path / "cache"
    cache.mkdir()
    with_cache = {"SNAKEMAKE_OUTPUT_CACHE": str(cache)}
    remove(finished, STORE, SPECTRA)
    finished.make(STORE, "--cache", **with_cache)
    cached = (finished.folder / STORE).resolve()
    assert cached.parent == cache
    cut_short(cached)
    damaged = cached.read_bytes()
    printed = finished.fails(SPECTRA, "--cache", **with_cache)
    is_named_and_kept(printed, cached, damaged)
    assert not (finished.folder / STORE).is_symlink()
    finished.make(SPECTRA, "--cache", **with_cache)
    assert (finished.folder / STORE).resolve() == cached
    same_results(finished, finished_run)


def test_a_table_cut_short_is_moved_aside_and_made_again(finished_run, finished):
    table = finished.folder / VARIANT
    cut_short(table)
    damaged = table.read_bytes()
    remove(finished, PLACEMENT)
    printed = finished.fails(PLACEMENT)
    is_named_and_kept(printed, table, damaged)
    assert f"{VARIANT}: damaged or cut short (not a readable Parquet table" in printed
    finished.make(PLACEMENT)
    same_results(finished, finished_run)


def test_a_flipped_byte_of_the_weights_is_found_and_they_are_built_again(finished_run, finished):
    """A safetensors file reads as well with a flipped byte as without: as other weights."""
    weights = finished.folder / WEIGHTS
    flip_bit(weights, weights.stat().st_size - 1000)
    damaged = weights.read_bytes()
    remove(finished, STORE)
    printed = finished.fails(STORE)
    is_named_and_kept(printed, weights, damaged)
    finished.make(STORE)
    same_results(finished, finished_run)


def process_of(run: subprocess.Popen, script: str) -> psutil.Process:
    """The process of a run in which `script` is at work, as soon as there is one."""
    while run.poll() is None:
        for process in psutil.Process(run.pid).children(recursive=True):
            try:
                name = process.cmdline()
            except psutil.Error:
                continue
            # the shell that starts it has its name too, in the command
            if name and "python" in name[0] and any(part.endswith(script) for part in name[1:]):
                return process
        time.sleep(0.01)
    raise AssertionError(f"{script} has not run: {run.stdout.read()}")


def test_a_job_that_the_kernel_kills_is_named_and_runs_again(finished_run, finished):
    """The memory killer takes one process of the job; Snakemake lives, and says which rule and which log."""
    log = "results/logs/states/tiny/front/001.log"
    remove(finished, STORE, log)
    command = [sys.executable, "-m", "snakemake", "--configfile", "test.yaml", "--cores", "2", STORE]
    run = subprocess.Popen(command, cwd=finished.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    process = process_of(run, "extract_states.py")
    while run.poll() is None and not (finished.folder / log).exists():
        time.sleep(0.01)
    process.kill()
    printed, _ = run.communicate()
    assert run.returncode != 0
    assert "Error in rule extract_states" in printed
    assert "SIGKILL" in printed
    assert log in printed
    assert not (finished.folder / STORE).exists()
    finished.make(STORE)
    same_results(finished, finished_run)
