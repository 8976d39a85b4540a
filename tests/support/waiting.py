"""Wait for what others do in their own time."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(condition: Callable[[], Found], limit_s: float = 10.0) -> Found:
    """What `condition` gives as soon as that is true; it never being so is a failure."""
    end = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)
    return found
