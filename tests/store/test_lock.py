import os
import subprocess
import sys

import pytest

from crucibleforge.errors import FolderLocked
from crucibleforge.store.lock import locked

HOLD = "import sys, pathlib; from crucibleforge.store.lock import locked\nwith locked(pathlib.Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"


def test_a_second_holder_is_refused_with_the_pid_of_the_first(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        holder.stdout.readline()
        with pytest.raises(FolderLocked) as caught, locked(tmp_path):
            pass
        assert caught.value.pid == holder.pid
        holder.kill()


def test_the_lock_of_a_killed_process_is_no_obstacle(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        holder.kill()
        holder.wait()
    with locked(tmp_path):
        assert (tmp_path / ".lock").read_text() == str(os.getpid())


def test_it_can_be_taken_again_after_it_was_let_go(tmp_path):
    for _ in range(2):
        with locked(tmp_path):
            pass
