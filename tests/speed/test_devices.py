import pytest

from crucibleforge.errors import InputError
from crucibleforge.speed.devices import find, slowest_with, table

ROWS = {device.name: device for device in table()}


def test_bus_width_times_data_rate_is_the_bandwidth():
    known = [device for device in table() if device.bus_bits and device.gbit_per_s]
    assert len(known) == len(table()) - 2
    for device in known:
        # Vendors round: Apple's 409.6 GB/s is sold as 400, AMD's 8192 as 8000.
        is_rounded = device.name[0] == "M" or device.name == "B200 SXM"
        slack = 0.026 if is_rounded else 0.01
        assert device.bus_bits * device.gbit_per_s / 8 == pytest.approx(device.gb_per_s, rel=slack), device.name


def test_a_row_with_one_source_or_a_doubt_of_its_own_is_unsure():
    assert not ROWS["H100 NVL"].is_sure
    assert not ROWS["B300 SXM"].is_sure
    assert not ROWS["Radeon 780M"].is_sure
    assert ROWS["RTX 5090"].is_sure
    assert ROWS["GB10"].is_sure
    for device in table():
        assert not device.is_sure or len(set(device.sources)) > 1, device.name


def test_every_row_is_found_by_its_own_name_and_only_by_it():
    assert len(ROWS) == len(table())
    for name, device in ROWS.items():
        assert find(name).device == device


@pytest.mark.parametrize(
    ("name", "wrong"), [("MI300X", 10_300), ("RTX 5060", 336), ("RX 9070", 560), ("M3 Ultra 80c", 800)]
)
def test_known_errors_of_published_tables_are_not_repeated(name, wrong):
    assert ROWS[name].gb_per_s != wrong


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("7900 XTX", "RX 7900 XTX"),
        ("radeon rx 7900 xt", "RX 7900 XT"),
        ("rtx4090", "RTX 4090"),
        ("4070 ti", "RTX 4070 Ti"),
        ("4070 ti super", "RTX 4070 Ti SUPER"),
        ("rtx 3060", "RTX 3060 12 GB"),
        ("3060 12gb", "RTX 3060 12 GB"),
        ("m4", "M4"),
        ("Apple M4 Max 40c", "M4 Max 40c"),
        ("a10", "A10"),
        ("a6000", "RTX A6000"),
        ("6000 ada", "RTX 6000 Ada"),
        ("NVIDIA A100-SXM4-80GB", "A100 80 GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000 Blackwell Max-Q"),
        ("Intel(R) Arc(TM) B580 Graphics", "Arc B580"),
        ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", "Strix Halo 8060S"),
        ("dgx spark", "GB10"),
        ("AMD EPYC 9554 64-Core Processor", "EPYC 9004"),
        ("NVIDIA Jetson AGX Orin Developer Kit", "Jetson AGX Orin 64 GB"),
    ],
)
def test_people_and_drivers_name_a_device_in_their_own_ways(said, meant):
    match = find(said)
    assert (match.device.name, match.candidates) == (meant, ())


def test_of_several_candidates_the_fastest_is_taken_and_all_are_named():
    match = find("h100")
    assert match.device.name == "H100 NVL"
    assert match.candidates == ("H100 PCIe", "H100 SXM", "H100 NVL")
    assert find("m4 max").device.gb_per_s == 546


def test_a_laptops_variant_has_at_most_the_desktops_figures_and_is_unsure():
    device = find("NVIDIA GeForce RTX 4090 Laptop GPU").device
    assert (device.name, device.gb_per_s, device.is_sure) == ("RTX 4090 (laptop; the desktop's figures)", 1008, False)
    assert device.memory_gb is None


@pytest.mark.parametrize(
    ("said", "hint"), [("rtx 3050", "RTX 5050"), ("rx 7900 xtxx", "RX 7900 XTX"), ("rtx", ""), ("", ""), ("???", "")]
)
def test_an_unknown_device_is_an_error_with_the_nearest_names(said, hint):
    with pytest.raises(InputError, match="unknown device") as caught:
        find(said)
    assert hint in caught.value.hint
    assert "custom:bw=" in caught.value.hint


def test_the_peak_is_the_fastest_of_the_known_rates():
    assert ROWS["RTX 4090"].peak == 661e12
    assert ROWS["M1"].peak == 2.6e12
    assert ROWS["EPYC 9004"].peak is None


def test_the_slowest_device_with_enough_is_named():
    assert slowest_with(1000).name == "RTX 3090 Ti"
    assert slowest_with(9000) is None
