import errno
from pathlib import Path

import pytest

from crucibleforge.errors import FolderLocked, FolderUnusable, Trouble, UnknownName, about, boundary, nearest


def test_an_unknown_name_offers_its_nearest_neighbour():
    error = UnknownName("category", "maths", ["math", "coding"], hint="known: math, coding")
    assert (error.message, error.hint) == ("unknown category 'maths'", "did you mean `math`? known: math, coding")
    assert error.exit_code == 2


def test_a_name_like_no_other_gets_no_guess():
    assert nearest("zzz", ["math", "coding"]) == []


def test_a_locked_folder_names_the_holder():
    assert FolderLocked(Path("r"), 42).message == "r is in use by a live run (process 42)"


def test_only_trouble_that_may_pass_heals():
    healing = [k for k in ("transport", "timeout", "overload", "auth", "rejected", "context") if Trouble(k, "x").may_heal]
    assert healing == ["transport", "timeout", "overload"]


def test_the_boundary_turns_file_errors_into_one_line(tmp_path):
    with pytest.raises(FolderUnusable) as caught, boundary():
        (tmp_path / "none" / "x").write_text("")
    assert caught.value.message == f"{tmp_path / 'none' / 'x'}: no such file or directory"
    assert caught.value.hint


def test_a_failed_write_is_told_with_the_name_of_its_file(tmp_path):
    with pytest.raises(FolderUnusable) as caught, boundary(), about(tmp_path / "f"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.message == f"{tmp_path / 'f'}: no space left on device"
    assert "free some space" in caught.value.hint


def test_the_boundary_lets_bugs_pass():
    with pytest.raises(ValueError, match="invalid literal"), boundary():
        int("x")
