from __future__ import annotations

from crucibleforge.families._dress import alone, answers, called, programs, said


def test_twelve_dressings_differ():
    assert len({replies[0].text for replies in answers(7)}) == 12
    assert len({replies[0].text for replies in programs("def f():\n    return 1\n")}) == 12


def test_every_dressing_holds_what_it_dresses():
    assert all("1234" in reply.text for (reply,) in answers(1234))
    assert all("def f():" in reply.text for (reply,) in programs("def f():\n    return 1\n"))


def test_each_text_is_a_dialogue_of_its_own():
    assert alone("a", "b") == ((said("a"),), (said("b"),))


def test_the_calls_of_a_reply_have_ids_of_their_own():
    reply = called(("one", "{}"), ("two", "{}"))
    assert [call.id for call in reply.tool_calls] == ["call_0", "call_1"]
    assert reply.finish == "tool_calls"
