"""Joints that move no mass, in words: what readers of all formats say of them."""

from __future__ import annotations

__all__ = ["listed", "massless_text"]

LISTED = 12


def massless_text(movers: list[tuple[str, str]]) -> str:
    """What is wrong with moving joints that carry no mass, in words."""
    names = listed([f"body '{link}' (moved by {joint!r})" for joint, link in movers])
    return (
        f"zero mass on a moving body: {names}: neither it nor any body it carries has mass, "
        f"so its acceleration is not defined; give it a mass or fix its joint"
    )


def listed(items: list[str]) -> str:
    """The first of many items, and how many more there are."""
    shown = ", ".join(items[:LISTED])
    return shown if len(items) <= LISTED else f"{shown} and {len(items) - LISTED} more"
