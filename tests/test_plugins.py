import sys

import pytest

from crucibleforge import plugins
from crucibleforge.errors import UnknownName


def test_a_plug_in_is_found_by_folder_and_file():
    assert plugins.find("graders", "numeric").name == "numeric"


def test_every_family_is_called_what_its_file_is_called():
    assert [plugins.find("families", name).name for name in plugins.names("families")] == list(plugins.names("families"))


def test_private_files_are_no_plug_ins():
    assert not [name for kind in ("families", "graders", "providers", "sandbox") for name in plugins.names(kind) if "_" in name]


def test_naming_imports_nothing():
    before = set(sys.modules)
    plugins.names("providers")
    assert set(sys.modules) == before


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(UnknownName, match="unknown provider type 'openia'") as caught:
        plugins.find("providers", "openia")
    assert caught.value.hint == "did you mean `openai`?"
