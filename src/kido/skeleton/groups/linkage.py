"""Linkages: groups of connected bodies, found from where they start and end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from kido.attributes import dataclass
from kido.errors import ModelError
from kido.skeleton.body_node import BodyNode
from kido.skeleton.groups.group import Group


class Expansion(Enum):
    """What to take at the start or at a target of a linkage.

    INCLUDE: the body. EXCLUDE: not the body itself. DOWNSTREAM: the body and all below it. UPSTREAM: the body and
    all that is reached from it without going down from it: the bodies above it with all their other branches.
    """

    INCLUDE = "include"
    EXCLUDE = "exclude"
    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"


@dataclass(frozen=True)
class Target:
    """A body at which a linkage starts or to which it reaches, and what to take there."""

    body: BodyNode
    policy: Expansion = Expansion.INCLUDE


@dataclass(frozen=True)
class Terminal:
    """A body beyond which a linkage does not go; itself a part of it if `inclusive`."""

    body: BodyNode
    inclusive: bool = True


@dataclass(frozen=True)
class LinkageCriteria:
    """What makes up a linkage: what the start takes, and the paths from there to each target, with what it takes.

    Attributes:
        start: a `Target` or a body; None for paths that begin at the targets' roots.
        targets: `Target` objects or bodies.
        terminals: `Terminal` objects or bodies; paths and expansions end there.
    """

    start: Target | BodyNode | None = None
    targets: Sequence[Target | BodyNode] = ()
    terminals: Sequence[Terminal | BodyNode] = ()

    def satisfy(self) -> list[BodyNode]:
        """The bodies, in the order in which they are reached: from the start up, then down to each target.

        Raises:
            ModelError: no bodies, or bodies of different skeletons.
        """
        targets = [_target(t) for t in self.targets]
        start = None if self.start is None else _target(self.start)
        terminals = [t if isinstance(t, Terminal) else Terminal(t) for t in self.terminals]
        named = [*([start.body] if start else []), *(t.body for t in targets), *(t.body for t in terminals)]
        for body in named:
            if not isinstance(body, BodyNode):
                raise ModelError(f"linkage: expected bodies, got {body!r}")
            if body.skeleton is not named[0].skeleton:
                a, b = named[0], body
                raise ModelError(
                    f"linkage: bodies {a.name!r} and {b.name!r} are of different skeletons, {a.skeleton.name!r} and "
                    f"{b.skeleton.name!r}; a Group can have both"
                )
        search = _Search({t.body: t.inclusive for t in terminals})
        if start is not None:
            search.expand(start)
        for target in targets:
            if start is None:
                search.walk([*_above(target.body)[::-1], target.body], None, target)
            else:
                search.walk(path_between(start.body, target.body), start, target)
        return list(search.found)


def _target(item: Target | BodyNode) -> Target:
    return item if isinstance(item, Target) else Target(item)


def _above(body: BodyNode) -> list[BodyNode]:
    """Bodies above, the nearest first."""
    found = []
    above = body.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def path_between(start: BodyNode, target: BodyNode) -> list[BodyNode]:
    """Bodies from one to another, both included: up to the nearest common one, then down.

    Between trees that hang on the world apart, over both roots.
    """
    up, down = [start, *_above(start)], [target, *_above(target)]
    common = next((body for body in up if body in down), None)
    if common is None:
        return [*up, *down[::-1]]
    return [*up[: up.index(common) + 1], *down[: down.index(common)][::-1]]


class _Search:
    """Bodies found so far, in order, and where to stop."""

    def __init__(self, terminals: dict[BodyNode, bool]):
        self.terminals = terminals
        self.found: dict[BodyNode, None] = {}

    def take(self, body: BodyNode) -> bool:
        """Take a body if no terminal excludes it; whether to go on beyond it."""
        if self.terminals.get(body, True):
            self.found.setdefault(body)
        return body not in self.terminals

    def expand(self, target: Target) -> None:
        match target.policy:
            case Expansion.INCLUDE:
                self.take(target.body)
            case Expansion.DOWNSTREAM:
                self.downstream(target.body)
            case Expansion.UPSTREAM:
                if self.take(target.body):
                    self.upstream(target.body)

    def downstream(self, body: BodyNode) -> None:
        waiting = [body]
        while waiting:
            current = waiting.pop()
            if self.take(current):
                waiting.extend(current.children[::-1])

    def upstream(self, body: BodyNode) -> None:
        passed = [body]
        for above in _above(body):
            if not self.take(above):
                break
            passed.append(above)
        for below, above in zip(passed[-2::-1], passed[:0:-1], strict=True):
            for child in above.children:
                if child is not below:
                    self.downstream(child)

    def walk(self, path: Iterable[BodyNode], start: Target | None, target: Target) -> None:
        """Take the bodies of a path up to a terminal, but not its ends if they are excluded; expand at its end."""
        for body in path:
            if body is target.body:
                self.expand(target)
            elif start is not None and body is start.body:
                if body in self.terminals:
                    return
            elif not self.take(body):
                return


class Linkage(Group):
    """Connected bodies of a skeleton, with the joints above them.

    Args:
        criteria: what makes it up.
        name: for messages.

    Raises:
        ModelError: no bodies, or bodies of different skeletons.

    Example:
        >>> both_arms = Linkage(LinkageCriteria(left_hand, [right_hand]))
    """

    def __init__(self, criteria: LinkageCriteria, name: str = "linkage"):
        if not isinstance(criteria, LinkageCriteria):
            raise ModelError(f"linkage {name!r}: expected LinkageCriteria, got {criteria!r}")
        self.criteria = criteria
        self._fill(self._found(), name)

    def _found(self) -> list[BodyNode]:
        return self.criteria.satisfy()

    def _fill(self, bodies: list[BodyNode], name: str) -> None:
        super().__init__(bodies, name=name)
        self._parents = [body.parent for body in bodies]

    @property
    def is_assembled(self) -> bool:
        """Whether its bodies hang on each other, by the joints that they had, as when it was made."""
        same_parents = all(body.parent is parent for body, parent in zip(self.bodies, self._parents, strict=True))
        return same_parents and all(b.parent_joint is j for b, j in zip(self.bodies, self.joints, strict=True))

    def satisfy_criteria(self) -> None:
        """Find its bodies anew, after the skeleton was edited.

        Raises:
            ModelError: the criteria cannot be met any more; it stays as it was.
        """
        self._fill(self._found(), self.name)


class Chain(Linkage):
    """The bodies between two of which one is above the other, without branches in between.

    Args:
        start: where it starts.
        target: where it ends; above the start or below it.
        include_upstream_parent_joint: whether the upper of the two is part of it, with the joint above it.
        name: for messages.

    Raises:
        ModelError: neither body is above the other, or a body between them has several children: that is no
            chain (DART cuts it there); a `Linkage` from one to the other has them all.
    """

    def __init__(
        self, start: BodyNode, target: BodyNode, include_upstream_parent_joint: bool = False, name: str = "chain"
    ):
        self.include_upstream_parent_joint = bool(include_upstream_parent_joint)
        self.name = name
        super().__init__(LinkageCriteria(start, [target]), name)

    def _found(self) -> list[BodyNode]:
        bodies = super()._found()
        what = f"chain {self.name!r} from body {bodies[0].name!r} to {bodies[-1].name!r}"
        upper = bodies[0] if bodies[0].index < bodies[-1].index else bodies[-1]
        lower = bodies[-1] if upper is bodies[0] else bodies[0]
        if upper is not lower and upper not in _above(lower):
            raise ModelError(f"{what}: neither is above the other; a Linkage goes from one to the other")
        for body in bodies[1:-1]:
            if len(body.children) > 1:
                raise ModelError(
                    f"{what}: body {body.name!r} between them has {len(body.children)} children; a Linkage may branch"
                )
        return bodies if self.include_upstream_parent_joint else [body for body in bodies if body is not upper]


class Branch(Linkage):
    """A body with the joint above it, and all below it.

    Args:
        start: the body.
        name: for messages.
    """

    def __init__(self, start: BodyNode, name: str = "branch"):
        super().__init__(LinkageCriteria(Target(start, Expansion.DOWNSTREAM)), name)
