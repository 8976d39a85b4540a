import msgspec

from crucibleforge.chat import Dialogue, Message, Timing


def test_the_first_token_is_the_first_of_any_kind():
    assert Timing(2.0, first_reasoning_s=0.5, first_content_s=1.0).first_token_s == 0.5
    assert Timing(2.0).first_token_s is None


def test_what_is_not_said_is_not_encoded_so_that_new_fields_change_no_hash():
    dialogue = Dialogue((Message("user", "q"),), 10)
    assert msgspec.json.encode(dialogue) == b'{"messages":[{"role":"user","content":"q"}],"max_tokens":10}'
