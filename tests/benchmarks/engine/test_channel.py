"""Messages arrive whole and in order; silence, strangers and the end of the other side are told."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

import pytest

from benchmarks.engine.channel import Channel, ChannelClosed, Door

PATIENT_S = 30.0  # a limit that no healthy test comes near


@pytest.fixture
def door() -> Iterator[Door]:
    door = Door()
    yield door
    door.close()


def alive() -> bool:
    return True


@pytest.fixture
def ends(door: Door) -> Iterator[tuple[Channel, socket.socket]]:
    """pytest's end as a channel, rank 0's as the bare socket."""
    rank = socket.create_connection(("127.0.0.1", door.port))
    rank.sendall(json.dumps({"token": door.token}).encode() + b"\n")
    channel = door.accept(PATIENT_S, alive)
    assert channel is not None
    yield channel, rank
    channel.close()
    rank.close()


def test_messages_go_both_ways(door: Door) -> None:
    with ThreadPoolExecutor() as other:
        connecting = other.submit(Channel.connect, door.port, door.token)
        here, there = door.accept(PATIENT_S, alive), connecting.result()
    assert here is not None
    here.send({"do": "run", "steps": 3})
    assert there.receive(PATIENT_S) == {"do": "run", "steps": 3}
    there.send({"blocks": [{"seconds": 0.125}], "text": "ä\n✓"})
    assert here.receive(PATIENT_S) == {"blocks": [{"seconds": 0.125}], "text": "ä\n✓"}
    here.close()
    there.close()


def test_several_messages_in_one_packet_are_several(ends: tuple[Channel, socket.socket]) -> None:
    channel, rank = ends
    rank.sendall(b'{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    assert [channel.receive(PATIENT_S) for _ in range(3)] == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_half_a_message_is_none_until_the_rest_arrives(ends: tuple[Channel, socket.socket]) -> None:
    channel, rank = ends
    rank.sendall(b'{"n": ')
    assert channel.receive(timeout_s=0.01) is None
    rank.sendall(b"1}\n")
    assert channel.receive(PATIENT_S) == {"n": 1}


def test_a_message_larger_than_any_buffer_arrives_whole(door: Door) -> None:
    with ThreadPoolExecutor() as other:
        connecting = other.submit(Channel.connect, door.port, door.token)
        here, there = door.accept(PATIENT_S, alive), connecting.result()
        assert here is not None
        large = {"step_s": [0.001] * 300_000}
        sending = other.submit(there.send, large)
        assert here.receive(PATIENT_S) == large
        sending.result()
    here.close()
    there.close()


def test_silence_is_none_and_not_the_end(ends: tuple[Channel, socket.socket]) -> None:
    channel, _ = ends
    assert channel.receive(timeout_s=0.0) is None
    assert channel.receive(timeout_s=0.01) is None


def test_what_arrived_before_the_end_is_read_first(ends: tuple[Channel, socket.socket]) -> None:
    channel, rank = ends
    rank.sendall(b'{"n": 1}\n')
    rank.close()
    assert channel.receive(PATIENT_S) == {"n": 1}
    with pytest.raises(ChannelClosed):
        channel.receive(PATIENT_S)


def test_sending_to_nobody_is_told(ends: tuple[Channel, socket.socket]) -> None:
    channel, rank = ends
    rank.close()
    with suppress(ChannelClosed):
        channel.send({"n": 1})  # may still find room in a buffer: only its answer tells
    with pytest.raises(ChannelClosed):
        channel.receive(PATIENT_S)
    with pytest.raises(ChannelClosed):
        channel.send({"n": 2})


# The door


def test_each_door_has_its_own_token_and_is_open_to_this_machine_only(door: Door) -> None:
    another = Door()
    assert another.token != door.token
    assert len(door.token) == 32
    assert door._server.getsockname()[0] == "127.0.0.1"
    another.close()


@pytest.mark.parametrize(
    "greeting", [b'{"token": "guessed"}\n', b"GET / HTTP/1.1\r\n\r\n", b"\xff\xfe\n", b"[1]\n", b""]
)
def test_strangers_are_turned_away_and_the_rank_is_still_let_in(
    door: Door, greeting: bytes
) -> None:
    stranger = socket.create_connection(("127.0.0.1", door.port))
    stranger.sendall(greeting)
    stranger.shutdown(socket.SHUT_WR)
    with ThreadPoolExecutor() as other:
        connecting = other.submit(Channel.connect, door.port, door.token)
        here, there = door.accept(PATIENT_S, alive), connecting.result()
    assert here is not None
    there.send({"n": 1})
    assert here.receive(PATIENT_S) == {"n": 1}
    for end in (here, there, stranger):
        end.close()


def test_nobody_is_waited_for_when_the_arm_is_dead(door: Door) -> None:
    assert door.accept(PATIENT_S, alive=lambda: False) is None


def test_an_arm_that_dies_while_it_is_waited_for_ends_the_waiting(door: Door) -> None:
    died = Event()

    def dies_at_the_second_look() -> bool:
        lived = not died.is_set()
        died.set()
        return lived

    assert door.accept(PATIENT_S, alive=dies_at_the_second_look) is None


def test_a_door_where_nobody_knocks_in_time(door: Door) -> None:
    assert door.accept(timeout_s=0.0, alive=alive) is None
