from types import SimpleNamespace

from crucibleforge.bench._nvml import Card, cards


class NVMLError(Exception):
    pass


def unsupported(*_):
    raise NVMLError


def driver(**changes):
    """A driver with one RTX 4090."""
    calls = {
        "NVMLError": NVMLError,
        "NVML_CLOCK_MEM": 2,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetName": lambda _: b"NVIDIA GeForce RTX 4090",
        "nvmlDeviceGetMemoryBusWidth": lambda _: 384,
        "nvmlDeviceGetMaxClockInfo": lambda _, clock: {2: 10_501}[clock],
        "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=24 * 2**30),
    }
    return SimpleNamespace(**calls | changes)


def test_bandwidth_is_twice_the_clock_times_the_width():
    assert cards(driver()) == (Card("NVIDIA GeForce RTX 4090", 2 * 10_501 * 384 / 8000, 24 * 2**30),)


def test_what_a_driver_does_not_support_is_unknown_and_the_rest_stays():
    odd = driver(nvmlDeviceGetMemoryInfo=unsupported, nvmlDeviceGetMaxClockInfo=unsupported)
    assert cards(odd) == (Card("NVIDIA GeForce RTX 4090"),)
    old = driver(nvmlDeviceGetName=lambda _: "NVIDIA GB10")
    del old.nvmlDeviceGetMemoryBusWidth
    assert cards(old) == (Card("NVIDIA GB10", None, 24 * 2**30),)


def test_without_a_driver_or_a_count_there_are_no_cards():
    assert cards(driver(nvmlInit=unsupported)) == ()
    assert cards(driver(nvmlDeviceGetCount=unsupported)) == ()
    assert cards(driver(nvmlDeviceGetHandleByIndex=unsupported)) == ()


def test_the_driver_is_let_go_of():
    said = []
    cards(driver(nvmlShutdown=lambda: said.append("shut down")))
    assert said == ["shut down"]


def test_the_library_may_be_missing():
    assert isinstance(cards(), tuple)
