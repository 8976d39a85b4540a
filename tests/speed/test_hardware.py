import pytest

from crucibleforge.errors import InputError
from crucibleforge.speed.hardware import memory_device, parse_hardware


def test_several_devices_in_one_text_or_in_several():
    together = parse_hardware(["2x rtx5090 + 2x rtx3090"])
    apart = parse_hardware(["2 x rtx 5090", "2\u00d7rtx 3090"])
    assert together == apart
    assert [device.gb_per_s for device in together.devices] == [1792, 1792, 936.2, 936.2]
    assert together.name == "2 x RTX 5090 + 2 x RTX 3090, split by layer"
    assert parse_hardware(["4090"], "tensor").name == "RTX 4090"


@pytest.mark.parametrize("text", ["7900 xtx", "1x 7900 xtx"])
def test_a_number_that_begins_a_name_is_no_count(text):
    assert parse_hardware([text]).name == "RX 7900 XTX"


@pytest.mark.parametrize(
    ("text", "gb_per_s", "name"),
    [
        ("epyc 9554 12x ddr5-4800", 460.8, "epyc 9554, 768 bit DDR5-4800"),
        ("epyc 9554 12ch DDR5 4800", 460.8, "epyc 9554, 768 bit DDR5-4800"),
        ("ddr4-3200", 51.2, "128 bit DDR4-3200"),
        ("2x ddr5-5600", 89.6, "128 bit DDR5-5600"),
        ("lpddr5x-8533 256bit", 273.056, "256 bit LPDDR5X-8533"),
        ("epyc 9554", 460.8, "EPYC 9004"),
    ],
)
def test_a_cpu_is_its_memory(text, gb_per_s, name):
    hardware = parse_hardware([text])
    assert hardware.devices[0].gb_per_s == pytest.approx(gb_per_s)
    assert (hardware.name, hardware.host) == (name, None)


def test_two_sockets_add_at_best():
    hardware = parse_hardware(["2x epyc 9554 12x ddr5-4800"])
    assert [device.gb_per_s for device in hardware.devices] == [460.8, 460.8]
    assert hardware.split == "tensor"


def test_a_cpu_beside_gpus_is_the_host():
    hardware = parse_hardware(["rtx 4090 + ddr5-6000"])
    assert hardware.name == "RTX 4090"
    assert hardware.host.gb_per_s == 96.0
    assert parse_hardware(["4090", "2x epyc 9554"]).host.gb_per_s == pytest.approx(921.6)


def test_a_plus_may_end_a_name():
    assert parse_hardware(["ryzen ai max+ 395"]).name == "Strix Halo 8060S"


def test_figures_of_ones_own_go_before_any_table():
    (device,) = parse_hardware(["custom:bw=1792,fp16=419,llc=96, gb=32"]).devices
    assert (device.gb_per_s, device.fp16_tf, device.llc_mb, device.memory_gb) == (1792, 419, 96, 32)
    assert device.is_sure


def test_what_a_name_may_mean_is_noted():
    hardware = parse_hardware(["h100"])
    assert hardware.notes == ("`h100` may be H100 PCIe, H100 SXM, H100 NVL; taken as the fastest, H100 NVL",)
    assert not hardware.is_sure


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "no device is named"),
        (["rtx 9999"], "unknown device 'rtx 9999'"),
        (["rtx 4090 + "], "unknown device ''"),
        (["custom:fp16=3"], "`custom:fp16=3` states no bandwidth"),
        (["custom:bw=fast"], "`bw=fast` is no number above 0"),
        (["custom:bw=nan"], "`bw=nan` is no number above 0"),
        (["custom:bw=-1"], "`bw=-1` is no number above 0"),
        (["custom:bw=inf"], "`bw=inf` is no number above 0"),
        (["custom:speed=1"], "unknown figure `speed=1`; known are bw, gb, fp16, int8, llc"),
        (["99x rtx 4090"], "more than 64 devices"),
        (["0x ddr5-0000"], "`0x ddr5-0000` has no bandwidth"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_a_hint(texts, message):
    with pytest.raises(InputError) as caught:
        parse_hardware(texts)
    assert caught.value.message == message
    assert caught.value.hint


def test_memory_is_channels_times_rate_times_eight_bytes():
    assert memory_device("x", 8, 3200).gb_per_s == 204.8
