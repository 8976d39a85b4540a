import json
import subprocess

import pytest

from crucibleforge.bench._nvml import Card
from crucibleforge.bench.detect import Probes, detect, processor

GIB = 2**30


@pytest.fixture
def found(tmp_path):
    """What is detected on a machine with these files and probes; its memory reads at 60 GB/s."""

    def look(files=None, **probes):
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        usual = {"system": "Linux", "cpu": "Some CPU", "nvidia": tuple, "measure": lambda _: 60.0}
        return detect(Probes(root=tmp_path, **usual | probes))

    return look


def card(number, vendor, device, memory=None):
    folder = f"sys/class/drm/card{number}/device"
    files = {f"{folder}/vendor": f"0x{vendor:04x}\n", f"{folder}/device": f"0x{device:04x}\n"}
    return files | ({f"{folder}/mem_info_vram_total": f"{memory}\n"} if memory else {})


def test_a_machine_without_gpus_is_its_measured_memory(found):
    caches = {
        f"sys/devices/system/cpu/cpu{n}/cache/index3/{file}": text
        for n, shared in enumerate(("0-1", "0-1", "2-3", "2-3"))
        for file, text in (("size", "32768K\n"), ("shared_cpu_list", shared))
    }
    asked = []
    machine = found(caches, measure=lambda l3: asked.append(l3) or 60.0)
    (device,) = machine.hardware.devices
    assert (device.name, device.gb_per_s, device.is_measured, device.is_sure) == ("Some CPU", 60.0, True, True)
    assert machine.l3_bytes == asked[0] == 2 * 32 * 2**20
    assert device.llc_mb == pytest.approx(67.1, abs=0.1)
    assert machine.hardware.is_detected


def test_where_nothing_can_be_measured_the_name_may_help(found):
    machine = found(cpu="AMD EPYC 9554 64-Core Processor", measure=lambda _: None)
    assert machine.hardware.devices[0].name == "EPYC 9004"
    assert found(measure=lambda _: None).hardware is None


def test_the_drivers_bandwidth_goes_before_the_tables(found):
    machine = found(nvidia=lambda: (Card("NVIDIA GeForce RTX 4090 Laptop GPU", 576.0, 16 * GIB),) * 2)
    device = machine.hardware.devices[0]
    assert (device.gb_per_s, device.is_sure, device.fp16_tf, len(machine.hardware.devices)) == (576.0, True, 165, 2)
    assert machine.hardware.host.gb_per_s == 60.0
    assert machine.gpus == ("NVIDIA GeForce RTX 4090 Laptop GPU",) * 2


@pytest.mark.parametrize("gb_per_s", [None, 1.0, 99_999.0])
def test_a_missing_or_absurd_figure_of_the_driver_is_not_used(found, gb_per_s):
    (device,) = found(nvidia=lambda: (Card("NVIDIA GB10", gb_per_s),)).hardware.devices
    assert (device.name, device.gb_per_s) == ("GB10", 273)


def test_a_card_that_only_the_driver_knows_has_its_bandwidth(found):
    (device,) = found(nvidia=lambda: (Card("NVIDIA RTX 7090", 3000.0, 48 * GIB),)).hardware.devices
    assert (device.name, device.gb_per_s, device.peak, device.is_sure) == ("NVIDIA RTX 7090", 3000.0, None, True)


def test_one_gpu_of_unknown_bandwidth_leaves_the_hardware_unknown(found):
    machine = found(nvidia=lambda: (Card("NVIDIA GeForce RTX 4090"), Card("NVIDIA Z1")))
    assert machine.hardware is None
    assert machine.gpus == ("NVIDIA GeForce RTX 4090", "NVIDIA Z1")


def test_without_the_library_the_kernels_driver_names_the_card(found):
    files = {"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA GeForce RTX 3090\nIRQ: 1\n"}
    assert found(files).hardware.name == "RTX 3090"


@pytest.mark.parametrize(
    ("device", "memory", "name"),
    [
        (0x744C, 25_753_026_560, "RX 7900 XTX"),
        (0x744C, 21_458_059_264, "RX 7900 XT"),
        (0x744C, 17_163_091_968, "RX 7900 GRE"),
        (0x747E, 12_868_124_672, "RX 7700 XT"),
        (0x1586, 512 * 2**20, "Strix Halo 8060S"),
    ],
)
def test_one_chips_cards_are_told_apart_by_memory(found, device, memory, name):
    assert found(card(0, 0x1002, device, memory)).hardware.name == name


def test_an_unknown_large_card_is_not_passed_over(found):
    assert found(card(0, 0x1002, 0xFFFF, 16 * GIB)).hardware is None
    assert found(card(0, 0x1002, 0x7480, 8 * GIB)).gpus == ("PCI 1002:7480",)


def test_a_processors_own_graphics_stand_back_behind_a_card(found):
    both = card(0, 0x1002, 0x15BF, GIB) | card(1, 0x8086, 0xE20B) | card(2, 0x8086, 0x1234)
    assert found(both).gpus == ("Arc B580",)


def test_unified_memory_is_no_host_of_its_own(found):
    machine = found({"proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0"})
    assert (machine.hardware.name, machine.hardware.host) == ("Jetson AGX Orin 64 GB", None)


def test_another_board_is_no_jetson(found):
    assert found({"proc/device-tree/model": "Raspberry Pi 5 Model B Rev 1.0\0"}).gpus == ()


def told(chip="Apple M4 Max", **display):
    return lambda: json.dumps({"SPHardwareDataType": [{"chip_type": chip}], "SPDisplaysDataType": [display]}).encode()


def test_an_apple_chip_is_told_by_its_cores(found):
    assert found(system="Darwin", profile=told(sppci_cores="32")).hardware.name == "M4 Max 32c"
    assert found(system="Darwin", profile=told()).hardware.name == "M4 Max 40c"
    assert found(system="Darwin", profile=told("Apple M2", sppci_cores="10")).hardware.name == "M2"
    assert found(system="Darwin", profile=told("Apple M9")).hardware is None


def failing():
    raise subprocess.CalledProcessError(1, "system_profiler")


@pytest.mark.parametrize("profile", [failing, lambda: b"", lambda: b"[]", lambda: b'{"SPHardwareDataType": []}'])
def test_a_profiler_that_fails_leaves_the_cpu(found, profile):
    assert found(system="Darwin", profile=profile).hardware.name == "Some CPU"


def test_nonsense_in_the_kernels_files_is_unknown(found):
    files = card(0, 0x1002, 0x744C) | {"sys/class/drm/card1/device/vendor": "xyz", "proc/device-tree/model": "\0"}
    assert found(files).hardware.name == "RX 7900 XTX"


def test_this_machine_is_described_without_an_error():
    machine = detect(Probes(measure=lambda _: 10.0))
    assert machine.cpu or machine.gpus or machine.hardware


def test_what_uses_no_gpu_is_held_against_the_cpu_alone(tmp_path):
    found = processor(Probes(root=tmp_path, system="Linux", cpu="Some CPU", measure=lambda _: 40.0))
    assert [(one.name, one.gb_per_s, one.is_measured) for one in found.devices] == [("Some CPU", 40.0, True)]


def test_a_cpu_of_which_nothing_is_known_is_unknown(tmp_path):
    assert processor(Probes(root=tmp_path, system="Linux", cpu="Some CPU", measure=lambda _: None)) is None
