"""Pieces of work outlive the process: whatever a killed job leaves, what is read is what was put."""

import numpy as np
import pytest

from homogenization.run.journal import Journal

KEYS = [("s1", "a"), ("s1", "b"), ("s2", "a")]


def piece(number):
    return {"values": np.arange(4.0) * number, "dose": np.array(f"ä{number}"), "none": np.full(2, np.nan)}


@pytest.fixture
def path(tmp_path):
    journal = Journal(tmp_path / "folder" / "job.unfinished")
    for number, key in enumerate(KEYS):
        journal.put(key, piece(number))
    return tmp_path / "folder" / "job.unfinished"


def check(journal, n_pieces):
    assert [key in journal for key in KEYS] == [number < n_pieces for number in range(len(KEYS))]
    for number, key in enumerate(KEYS[:n_pieces]):
        found = journal.get(key)
        assert found.keys() == piece(number).keys()
        for name, array in piece(number).items():
            np.testing.assert_array_equal(found[name], array)


def test_pieces_are_there_for_the_next_process_until_the_file_is_removed(path):
    journal = Journal(path)
    check(journal, 3)
    assert ("s2", "b") not in journal
    journal.put(KEYS[0], piece(7))  # found again, such as by a smaller pass
    np.testing.assert_array_equal(Journal(path).get(KEYS[0])["values"], piece(7)["values"])
    journal.remove()
    assert not path.exists()
    check(journal, 0)
    check(Journal(path), 0)
    Journal(path).remove()


@pytest.mark.parametrize("cut", [1, 5, 23, 24, 25, 200])
def test_a_piece_that_is_cut_short_is_dropped_and_the_next_is_added_behind_the_whole_ones(path, cut):
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    journal = Journal(path)
    check(journal, 2)
    journal.put(KEYS[2], piece(2))
    assert path.read_bytes() == whole
    check(Journal(path), 3)


def test_a_damaged_piece_ends_what_is_trusted(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    check(Journal(path), 1)
    path.write_bytes(b"\xff" * 300)
    check(Journal(path), 0)
    assert path.read_bytes() == b""
