"""Nodes, aspects and their states of users' classes in recordings: what can be kept of them, and back, or refused."""

from __future__ import annotations

from typing import Any

from kido.errors import StateError
from kido.recording.codec import RecordingError
from kido.skeleton import Skeleton
from kido.skeleton.aspects import Carrier
from kido.skeleton.state.plain import plain
from kido.skeleton.state.users import add_users_aspect, add_users_parts, why_not

_LEFT_OUT = "states_left_out"  # key of a complete state: states that are no plain data
_HINT = "users=False leaves out nodes and aspects of users' classes"


def add_users(skeleton: Skeleton, items: list[dict[str, Any]]) -> None:
    """Put nodes and aspects of users' classes on a skeleton as they were described.

    Raises:
        RecordingError: one of them cannot be restored; the message names it and its class.
    """
    _refuse(items)
    try:
        add_users_parts(skeleton, items)
    except StateError as error:
        raise RecordingError(f"skeleton {skeleton.name!r}: {error}; {_HINT}") from error


def add_aspects(label: str, carrier: Carrier, items: list[dict[str, Any]]) -> None:
    """Put aspects of users' classes on a carrier as they were described.

    Raises:
        RecordingError: one of them cannot be restored; the message names it and its class.
    """
    _refuse(items)
    try:
        for item in items:
            add_users_aspect({label: carrier}, item)
    except StateError as error:
        raise RecordingError(f"{error}; {_HINT}") from error


def _refuse(items: list[dict[str, Any]]) -> None:
    reasons = [f"{reason}" for item in items if (reason := why_not(item)) is not None]
    if reasons:
        raise RecordingError(f"{reasons[0]}; it cannot be restored; {_HINT}")


def plain_states(state: dict[str, Any]) -> dict[str, Any]:
    """A world's state with those of nodes and aspects as plain data, and what is none named."""
    left_out: list[str] = []
    carried = []
    for states in state["carried"]:
        kept = {}
        for label, value in states.items():
            try:
                kept[label] = plain(value, f"{label}: state")
            except StateError as error:
                left_out.append(str(error))
        carried.append(kept)
    return {**state, "carried": carried, _LEFT_OUT: left_out}


def check_states(state: Any, users: bool) -> None:
    """Refuse a world's state from which states of nodes or aspects were left out, if they are wanted.

    Raises:
        RecordingError: the message names the first.
    """
    left_out = state.get(_LEFT_OUT, []) if isinstance(state, dict) else []
    if users and left_out:
        raise RecordingError(f"{left_out[0]!s:.300}; it cannot be restored; {_HINT}")
