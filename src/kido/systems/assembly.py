"""Assemblies: models, bodies and other assemblies under one name, with their connections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from kido.attributes import FixedAttributes
from kido.errors import ModelError, NameLookupError
from kido.math.transform import as_flag
from kido.skeleton import BodyNode
from kido.systems.clock import Rate, as_rate
from kido.systems.declarations import Crossing, Input, Output, State
from kido.systems.model import Model, Port
from kido.systems.part import Part, checked_part

P = TypeVar("P", bound="Model | Assembly")


class Connection(FixedAttributes):
    """From an output or a state to an input.

    Attributes:
        source, target: the two ports.
        delay: rate at which the source is looked at: the input has its value at the tick before; None: at once.
        solve: an algebraic loop through it is solved.
    """

    def __init__(self, source: Port, target: Port, delay: Rate | None, solve: bool):
        self.source, self.target, self.delay, self.solve = source, target, delay, solve

    def __repr__(self) -> str:
        return f"Connection({self.source.path!r} -> {self.target.path!r})"


class Assembly(Part):
    """A named part of a system: models and other assemblies, connections between them, ports that stand for theirs.

    Subclass it, and add what is in it in `__init__`, for a part that is made many times. Bodies that it brings along
    hang in a skeleton; they are its own by `add_body`, and go with it when it is removed.

    Args:
        name: in the assembly that it is added to.

    Example:
        >>> class Drive(Assembly):
        ...     def __init__(self, name, gain=2.0):
        ...         super().__init__(name)
        ...         motor = self.add(Motor())
        ...         control = self.add(Gain("control", gain=gain))
        ...         self.connect(control.output, motor.voltage)
        ...         self.expose("command", control.input)
    """

    def __init__(self, name: str):
        super().__init__(name)
        self._parts: dict[str, Model | Assembly] = {}
        self._connections: list[Connection] = []
        self._exposed: dict[str, Port] = {}
        self._bodies: list[BodyNode] = []
        self._into: dict[Port, Connection] | None = None  # of the whole, by target, while nothing else changes

    # What it is --------------------------------------------------------------------------------------------

    @property
    def _what(self) -> str:
        return f"assembly {self.path!r}"

    @property
    def parts(self) -> tuple[Model | Assembly, ...]:
        """Models and assemblies in it, in the order they were added."""
        return tuple(self._parts.values())

    @property
    def models(self) -> tuple[Model, ...]:
        """All models in it and in its assemblies, by path."""
        return tuple(sorted(self._all_models(), key=lambda m: m.path))

    def _all_models(self) -> Iterator[Model]:
        for part in self._parts.values():
            if isinstance(part, Model):
                yield part
            else:
                yield from part._all_models()

    @property
    def bodies(self) -> tuple[BodyNode, ...]:
        """Bodies of its own and of its assemblies."""
        inner = [body for part in self._parts.values() if isinstance(part, Assembly) for body in part.bodies]
        return (*self._bodies, *inner)

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Those made in it and in its assemblies."""
        inner = [c for part in self._parts.values() if isinstance(part, Assembly) for c in part.connections]
        return (*self._connections, *inner)

    @property
    def exposed(self) -> dict[str, Port]:
        """Ports that stand for those of models in it, by name (a copy)."""
        return dict(self._exposed)

    def _free_to_change(self, what: str) -> None:
        """Raise StateError if a model of the system, which runs, wants it changed."""
        system = self.root_system()
        if system is not None:
            system.check_idle(f"{self._what}: {what}")

    def _changed(self, connections: bool = True) -> None:
        """The structure is another one; whether connections are others than `_into` knows."""
        if connections:
            self._whole()._into = None
        system = self.root_system()
        if system is not None:
            system.structure_changed()

    # Contents ----------------------------------------------------------------------------------------------

    def add(self, part: P) -> P:
        """Add a model or an assembly.

        Raises:
            ModelError: it is none, is in an assembly already, or its name is taken.
            StateError: the system runs.
        """
        if not isinstance(part, Model | Assembly):
            raise ModelError(f"{self._what}: add: expected a model or an assembly, got {part!r:.100}")
        if part.parent is not None:
            raise ModelError(f"{self._what}: add: {part.path!r} is in an assembly already")
        if part.root_system() is not None if isinstance(part, Assembly) else False:
            raise ModelError(f"{self._what}: add: a System is in no assembly")
        if part is self._whole():
            raise ModelError(f"{self._what}: add: {part.path!r} is what it is in, or itself")
        if part.name in self._parts or part.name in self._exposed:
            raise ModelError(f"{self._what}: add: the name {part.name!r} is taken")
        self._free_to_change("add")
        if self.root_system() is not None:
            self.root_system().check_part(part)
        part.parent = self
        self._parts[part.name] = part
        self._changed(isinstance(part, Assembly))
        return part

    def add_body(self, body: BodyNode) -> BodyNode:
        """Let a body of a skeleton be its own: with all below it, it goes when the assembly is removed.

        Raises:
            ModelError: no body of a skeleton, or one that it has already.
        """
        if not isinstance(body, BodyNode) or body in self._bodies:
            raise ModelError(f"{self._what}: add_body: expected a body that is not its own yet, got {body!r:.100}")
        self._bodies.append(body)
        return body

    def remove(self, part: Model | Assembly | str) -> Model | Assembly:
        """Take a model or an assembly out, with its bodies and all connections from and to it.

        Raises:
            NameLookupError, ModelError: it is not here.
            StateError: the system runs.
        """
        if isinstance(part, str):
            if part not in self._parts:
                raise NameLookupError(f"part of {self._what}", part, list(self._parts))
            part = self._parts[part]
        if not isinstance(part, Part) or self._parts.get(part.name) is not part:
            raise ModelError(f"{self._what}: remove: {part!r} is not in it")
        self._free_to_change("remove")
        gone = {part} if isinstance(part, Model) else set(part.models)
        paths, system = tuple(f"{m.path}." for m in gone), self.root_system()
        remove_bodies(() if isinstance(part, Model) else part.bodies)
        above: Assembly | None = self
        while above is not None:
            above._connections = [
                c for c in above._connections if c.source.model not in gone and c.target.model not in gone
            ]
            above._exposed = {key: port for key, port in above._exposed.items() if port.model not in gone}
            above = above.parent
        del self._parts[part.name]
        self._changed()
        part.parent = None
        if isinstance(part, Assembly):
            part._into = None
        if system is not None:
            system.forget(lambda path: path.startswith(paths))
            for m in gone:
                m.removed()
        return part

    def replace(self, part: P | str, by: P) -> P:
        """Put a model or an assembly in the place of another one, under its name, with all connections from and to it.

        Ports of an assembly are found again by their paths in it, or by the names under which it exposes them. Bodies
        of the old one go. States go on if they have the same name, shape and unit, and the new model was not given
        other values.

        Raises:
            ModelError: a connected port is missing, or does not fit; nothing is changed.
            StateError: the system runs.
        """
        old: Any = self[part] if isinstance(part, str) else part
        kind = Model if isinstance(by, Model) else Assembly
        if not isinstance(old, kind) or self._parts.get(old.name) is not old:
            raise ModelError(f"{self._what}: replace: expected a part in it of the same kind, got {part!r}")
        if by.parent is not None or by.name != old.name or by.root_system() is not None:
            raise ModelError(f"{self._what}: replace: expected a part {old.name!r} that is in no assembly, got {by!r}")
        self._free_to_change("replace")
        if self.root_system() is not None:
            self.root_system().check_part(by, {old} if isinstance(old, Model) else set(old.models))
        gone = {old} if isinstance(old, Model) else set(old.models)
        lost = _not_carried(gone, {by} if isinstance(by, Model) else set(by.models), old.path)

        def now(port: Port) -> Port:
            return port if port.model not in gone else counterpart(port, old, by, self._what)

        own: list[tuple[Assembly, list[Connection], dict[str, Port]]] = []
        above: Assembly | None = self
        while above is not None:
            swapped = [Connection(now(c.source), now(c.target), c.delay, c.solve) for c in above._connections]
            for c in swapped:
                check_fit(c.source, c.target, self._what)
            own.append((above, swapped, {k: now(p) for k, p in above._exposed.items()}))
            above = above.parent
        self._changed()  # while paths are those of before
        remove_bodies(() if isinstance(old, Model) else old.bodies)
        for assembly, connections, ports in own:
            assembly._connections, assembly._exposed = connections, ports
        self._parts[old.name] = by
        by.parent, old.parent = self, None
        if isinstance(old, Assembly):
            old._into = None
        system = self.root_system()
        if system is not None:
            system.forget(lost.__contains__)
            for m in gone:
                m.removed()
        return by

    def expose(self, name: str, port: Port | str) -> Port:
        """Let a port of a model in it be found under a name of its own.

        Raises:
            ModelError: the name is taken, or the port is of no model in it.
        """
        port = self._port(port)
        if checked_part(name) in self._parts or name in self._exposed:
            raise ModelError(f"{self._what}: expose: the name {name!r} is taken")
        self._exposed[name] = port
        return port

    def __getitem__(self, path: str) -> Any:
        """A model, an assembly or a port by its path from here, such as "wheel_fl.motor.current".

        Raises:
            NameLookupError: there is none.
        """
        here: Any = self
        if not isinstance(path, str):
            raise NameLookupError(f"part of {self._what}", path, list(self._parts))
        for part in path.split("."):
            if isinstance(here, Assembly):
                found = here._parts.get(part) or here._exposed.get(part)
                if found is None:
                    raise NameLookupError(f"part of {here._what}", part, [*here._parts, *here._exposed])
                here = found
            elif isinstance(here, Model):
                here = here.port(part)
            else:
                raise NameLookupError(f"part of port {here.path!r}", part, [])
        return here

    # Connections -------------------------------------------------------------------------------------------

    def connect(self, source: Port | str, target: Port | str, *, delay: Any = None, solve: bool = False) -> Connection:
        """Let an input be what an output or a state is.

        Args:
            source: an output or a state: a port, or its path from here.
            target: an input that nothing is connected to.
            delay: rate [Hz]: the input is what the source was at the tick before, and breaks an algebraic loop.
            solve: if this connection is part of an algebraic loop, let it be solved by Newton's method.

        Raises:
            ModelError: a port of the wrong kind or of no model in here, units or shapes that do not fit, or an input
                that is connected already; nothing is changed.
            StateError: the system runs.
        """
        one, two = self._port(source), self._port(target)
        what = f"{self._what}: connect {one.path} to {two.path}"
        solve = as_flag(solve, f"{what}: solve")
        if not isinstance(one.declared, Output | State):
            raise ModelError(f"{what}: expected an output or a state to connect from, got an {one.kind}")
        if not isinstance(two.declared, Input):
            raise ModelError(f"{what}: expected an input to connect to, got {one.kind} {two.name!r}")
        check_fit(one, two, what)
        whole = self._whole()
        if whole._into is None:
            whole._into = {c.target: c for c in whole.connections}
        if two in whole._into:
            source = whole._into[two].source.path
            raise ModelError(f"{what}: it is connected to {source} already; disconnect it first")
        rate = None if delay is None else as_rate(delay, what)
        if rate is not None and solve:
            raise ModelError(f"{what}: a delay leaves no loop to solve; expected one of the two")
        if rate is not None and self.root_system() is not None:
            self.root_system().check_rate(rate, what)
        self._free_to_change("connect")
        made = Connection(one, two, rate, solve)
        self._connections.append(made)
        whole._into[two] = made
        self._changed(False)
        return made

    def disconnect(self, target: Port | str) -> Connection:
        """Take away the connection to an input.

        Raises:
            ModelError: nothing is connected to it.
            StateError: the system runs.
        """
        port = self._port(target)
        self._free_to_change("disconnect")
        assemblies = [self._whole()]
        for assembly in assemblies:
            assemblies += [part for part in assembly._parts.values() if isinstance(part, Assembly)]
            for c in assembly._connections:
                if c.target == port:
                    assembly._connections.remove(c)
                    self._changed()
                    if c.delay is not None and self.root_system() is not None:
                        self.root_system().forget(f"{port.path} (delayed)".__eq__)
                    return c
        raise ModelError(f"{self._what}: disconnect: nothing is connected to {port.path}")

    def _whole(self) -> Assembly:
        return self if self.parent is None else self.parent._whole()

    def _port(self, given: Port | str) -> Port:
        """A port of a model in here."""
        port = self[given] if isinstance(given, str) else given
        if not isinstance(port, Port):
            raise ModelError(f"{self._what}: expected a port, got {given!r:.100}")
        above = port.model.parent
        while above is not None and above is not self:
            above = above.parent
        if above is None:
            raise ModelError(f"{self._what}: {port.path} is of no model in it; add the model first")
        return port

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path or self._name!r}, {len(self._parts)} parts)"


def counterpart(port: Port, old: Model | Assembly, by: Model | Assembly, what: str) -> Port:
    """The port that stands in a part for one of the part whose place it takes.

    Raises:
        ModelError: it has none.
    """
    if isinstance(by, Model):
        return by.port(port.name)
    assert isinstance(old, Assembly)
    below = port.path[len(old.path) + 1 :]
    for path in (below, *(name for name, found in old.exposed.items() if found == port)):
        try:
            found = by[path]
        except NameLookupError:
            continue
        if isinstance(found, Port):
            return found
    raise ModelError(f"{what}: replace: {by.name!r} has no port {below!r}, which is connected")


def _not_carried(old: set[Model], new: set[Model], path: str) -> set[str]:
    """Paths below one, of states, outputs, noise and crossings of old models that new ones do not go on with."""
    top = path.rpartition(".")[2]  # new ones are in no system yet: with it their paths begin
    there = {f"{path}{m.path[len(top) :]}": m for m in new}
    found = set()
    for m in old:
        other = there.get(m.path)
        for name, d in m.declared.items():
            as_new = None if other is None else other.declared.get(name)
            same = as_new is not None and [type(d), d.shape, str(d.unit)] == [
                type(as_new),
                as_new.shape,
                str(as_new.unit),
            ]
            if not same or isinstance(d, Crossing) or (other is not None and name in other.given_states):
                found.add(f"{m.path}.{name}")
    return found


def remove_bodies(bodies: tuple[BodyNode, ...]) -> None:
    """Take bodies out of their skeletons, with all below them."""
    for body in [body for body in bodies if body.parent not in bodies]:
        body.remove()


def check_fit(source: Port, target: Port, what: str) -> None:
    """Raise ModelError unless numbers of a source are numbers of a target."""
    if source.shape != target.shape:
        raise ModelError(f"{what}: shapes {source.shape} and {target.shape} do not fit")
    if source.unit is not None and target.unit is not None and not source.unit.fits(target.unit):
        raise ModelError(
            f"{what}: units {str(source.unit)!r} and {str(target.unit)!r} do not fit: "
            f"{source.unit.difference(target.unit)}"
        )
