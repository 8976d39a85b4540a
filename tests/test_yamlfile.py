import pytest
from msgspec import Struct

from crucibleforge.errors import ConfigError
from crucibleforge.yamlfile import read_yaml


class Inner(Struct, frozen=True):
    size: int = 0


class Outer(Struct, frozen=True):
    items: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}
    maybe: Inner | None = None


def test_what_the_shape_has_is_read():
    text = b"items: [{size: 1}]\nnamed: {a: {size: 2}}\nmaybe: {size: 3}"
    assert read_yaml(text, "f", Outer) == Outer((Inner(1),), {"a": Inner(2)}, Inner(3))
    assert read_yaml(b"", "f", Outer) == Outer()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"itms: []", "f: unknown key 'itms'"),
        (b"items: [{sise: 1}]", "f: unknown key 'items[0].sise'"),
        (b"named: {a: {sise: 1}}", "f: unknown key 'named.a.sise'"),
        (b"maybe: {sise: 1}", "f: unknown key 'maybe.sise'"),
        (b"items: []\nitems: []", "f line 2: the key 'items' stands twice"),
        (b"maybe: !!python/object/apply:os.getcwd []", "f line 1: could not determine a constructor"),
        (b"items: [", "f line"),
        (b"\xff", "f: "),
        (b"maybe: {size: x}", "f: Expected `int`"),
    ],
)
def test_anything_else_is_refused_with_its_place(text, message):
    with pytest.raises(ConfigError) as caught:
        read_yaml(text, "f", Outer)
    assert caught.value.message.startswith(message)
    assert caught.value.hint
