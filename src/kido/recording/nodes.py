"""Markers and end effectors as plain data, and back. A user's own nodes and aspects are code, and are left out."""

from __future__ import annotations

from typing import Any

from kido.recording.errors import RecordingError
from kido.recording.joints import keep_bits
from kido.skeleton import BodyNode, EndEffector, Marker, Support


def nodes_to_dicts(body: BodyNode) -> list[dict[str, Any]]:
    """The markers and end effectors of a body, with their supports."""
    found: list[dict[str, Any]] = []
    for node in body.nodes():
        data: dict[str, Any] = {"type": type(node).__name__, "name": node.name}
        if type(node) is Marker:
            data["transform"] = node.relative_transform.tolist()
            found.append({**data, "color": list(node.color), "constraint": node.constraint.value})
        elif type(node) is EndEffector:
            data["transform"] = node.relative_transform.tolist()
            data["default_transform"] = node.default_relative_transform.tolist()
            support = node.support
            given = None if support is None else {"geometry": support.geometry.tolist(), "active": support.active}
            found.append({**data, "support": given})
    return found


def add_nodes(body: BodyNode, items: list[dict[str, Any]]) -> None:
    """Put described nodes on a body.

    Raises:
        RecordingError: a node of another class.
    """
    for item in items:
        X = item["transform"]
        if item["type"] == "Marker":
            offset = [row[3] for row in X[:3]]
            node = body.create_node(Marker, item["name"], offset, item["color"], item["constraint"])
            node.relative_transform = X
        elif item["type"] == "EndEffector":
            node = body.create_node(EndEffector, item["name"], X)
            node.default_relative_transform = item["default_transform"]
            keep_bits(node, "_default_relative", item["default_transform"])
            if item["support"] is not None:
                node.create(Support, item["support"]["geometry"], item["support"]["active"])
        else:
            raise RecordingError(f"node {item['name']!r} is of class {item['type']!r}, expected Marker or EndEffector")
        keep_bits(node, "_relative", X)
