"""The conversations in fixtures/protocol, which this side must accept or refuse as specified."""

from pathlib import Path

import pytest

from firstlight.protocol import Conversation, ProtocolError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "protocol"
ACCEPTED = sorted((FIXTURES / "accept").glob("*.txt"))
REFUSED = sorted((FIXTURES / "refuse").glob("*.txt"))


def replay(path: Path) -> bool:
    """Replays a conversation; whether a line was marked to be refused, and was."""
    conversation = Conversation()
    refused = False
    for line in path.read_text().splitlines():
        mark, _, json = line.partition(" ")
        if mark == ">":
            conversation.asked(json.encode())
        elif mark == "<":
            conversation.said(json.encode())
        elif mark == "!<":
            with pytest.raises(ProtocolError):
                conversation.said(json.encode())
            refused = True
        else:
            assert mark == "#", line
    return refused


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_a_good_conversation_is_accepted(path: Path) -> None:
    assert not replay(path)


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_a_bad_conversation_is_refused_at_the_marked_line(path: Path) -> None:
    assert replay(path)


def test_there_are_conversations_of_both_kinds() -> None:
    assert len(ACCEPTED) > 5
    assert len(REFUSED) > 5
