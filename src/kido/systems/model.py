"""Models: what has parameters, inputs, outputs and states, and equations between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kido.attributes import FixedAttributes, names_like
from kido.errors import ArgumentError, ModelError, NameLookupError, StateError
from kido.math.transform import numbers_or_nan
from kido.systems.clock import Rate, as_rate
from kido.systems.declarations import Crossing, Declared, Input, Noise, Output, Parameter, State
from kido.systems.part import Part
from kido.systems.units import Unit

Array = NDArray[np.float64]
METHODS = ("outputs", "derivatives", "update", "crossings")
CALLBACKS = (*METHODS, "event", "start")


class Port(FixedAttributes):
    """An input, an output or a state of a model, as connections, logs and messages mean it.

    Attributes:
        model: whose it is.
        declared: what the model's class says of it.
    """

    def __init__(self, model: Model, declared: Declared):
        self.model, self.declared = model, declared

    @property
    def name(self) -> str:
        """Its name in the model."""
        return self.declared.name

    @property
    def path(self) -> str:
        """From the system down, as "rover.wheel_fl.motor.current"."""
        return f"{self.model.path}.{self.name}"

    @property
    def unit(self) -> Unit | None:
        """Of its numbers; None: any."""
        return self.declared.unit

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its value; (): one number."""
        return self.declared.shape

    @property
    def kind(self) -> str:
        """ "input", "output" or "state"."""
        return self.declared.kind

    @property
    def value(self) -> Any:
        """Its present value, a float or an array; of a state it may be set.

        Outputs of models with a rate are zero before their first tick. Setting a state takes effect at once.

        Raises:
            StateError: the model is in no system, or what is set is not finite or of another shape.
        """
        return self.model.system_of(self.path).value_of(self)

    @value.setter
    def value(self, value: ArrayLike) -> None:
        self.model.system_of(self.path).set_state_value(self, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Port) and other.model is self.model and other.name == self.name

    def __hash__(self) -> int:
        return hash((id(self.model), self.name))

    def __repr__(self) -> str:
        return f"Port({self.path!r}, {self.kind}, unit {'any' if self.unit is None else str(self.unit)!r})"


class Model(Part):
    """Base of models: subclass it, declare what it has, and write its equations as methods.

    Each method returns values by name:

    - `outputs`: of all outputs, y = g(t, x, u);
    - `derivatives`: of continuous states, dx/dt = f(t, x, u), in models without a rate;
    - `update`: of states in models with a rate, z+ = f(t, z, u), at each tick;
    - `crossings`: of all crossings; `at_<crossing>`: of states, as they are after it.

    KIDO calls them once, with expressions in place of numbers, and works through what they write down: nothing is
    compiled, and which output depends on which input is known exactly. In place of a method a class may have a callback
    (`kido.jit.callback`) of that name, which is compiled (`kido.systems.MODEL`). Models of plain Python are derived
    from `PythonModel`. In all of them inputs, states, parameters, `time` [s] and, with a rate, `period` [s] are
    attributes.

    At a tick all updates read values of before, and take effect together; outputs follow, each after those it depends
    on, and are held until the next tick. The first tick is at time 0.

    Args:
        name: in its assembly; by default the class's, in small letters.
        rate: of ticks [Hz], see `kido.systems.as_rate`; by default the class's. None: the model is continuous.
        **values: parameters, and initial values of states.

    Example:
        >>> class Motor(Model):
        ...     resistance = Parameter(1.0, "ohm", low=0.0)
        ...     constant = Parameter(0.01, "N m/A")
        ...     voltage = Input("V")
        ...     speed = Input("rad/s")
        ...     torque = Output("N m")
        ...
        ...     def outputs(self):
        ...         current = (self.voltage - self.constant * self.speed) / self.resistance
        ...         return {"torque": self.constant * current}

    Raises:
        ModelError: a value that does not fit, or a parameter that is missing.
        ArgumentError: there is nothing of a name.
    """

    rate: ClassVar[Any] = None
    is_python: ClassVar[bool] = False
    keeps_more: ClassVar[bool] = False  # than its states: then there are no checkpoints
    failure: str = ""  # of its callbacks, in words

    def __init__(self, name: str | None = None, *, rate: Any = None, **values: Any):
        declared = declared_by(type(self))
        super().__init__(type(self).__name__.lower() if name is None else name)
        what = f"model {self._name!r}"
        self.inside: dict[str, Any] | None = None  # values, while one of its methods runs
        self._declared = declared
        given = type(self).rate if rate is None else rate
        self.clock: Rate | None = None if given is None else as_rate(given, what)
        self._parameters: dict[str, Array] = {}
        self._initial: dict[str, Array] = {}
        self.given_states = frozenset(values) & frozenset(self.of_kind(State))
        self._check(what)
        for key, d in self._declared.items():
            if isinstance(d, Parameter):
                if key not in values and d.default is None:
                    raise ModelError(f"{what}: parameter {key!r} has no default and must be given")
                self._parameters[key] = d.checked(values.pop(key, d.default), f"{what}: parameter {key!r}")
            elif isinstance(d, State):
                self._initial[key] = d.checked(values.pop(key, d.initial), f"{what}: state {key!r}")
        if values:
            names = ["name", "rate", *self._parameters, *self._initial]
            wrong = next(iter(values))
            raise ArgumentError(type(self).__name__, f"unexpected argument {wrong!r}", names, names_like(wrong, names))

    def _check(self, what: str) -> None:
        """Refuse what cannot be, as soon as it is made."""
        continuous = self.clock is None
        if self.is_python and continuous:
            raise ModelError(f"{what}: a model of plain Python needs a rate [Hz]")
        if not continuous and self.method("derivatives") is not None:
            raise ModelError(f"{what}: derivatives are of continuous models, which have no rate; write update")
        if continuous and self.method("update") is not None:
            raise ModelError(f"{what}: update is of models with a rate [Hz]; give one, or write derivatives")
        if continuous and self.of_kind(Noise):
            raise ModelError(f"{what}: noise is drawn at ticks; give the model a rate [Hz]")
        if not continuous and self.of_kind(Crossing):
            raise ModelError(f"{what}: crossings are of continuous models, which have no rate")
        if self.of_kind(Output) and self.method("outputs") is None and not self.is_boundary:
            raise ModelError(f"{what}: it has outputs {list(self.of_kind(Output))}, and no method outputs")

    # What it is --------------------------------------------------------------------------------------------

    def redeclare(self, **declared: Declared | None) -> None:
        """Declarations of this object in place of its class's, before it is in a system; None: it has none.

        Of ports, parameters and noise whose number, shape or unit its arguments tell. In methods `self.inside` has
        values by name.
        """
        _check_names(declared, f"model {self._name!r}")
        for key, d in declared.items():
            if d is not None:
                d.name = key
            if isinstance(d, Parameter) and d.default is not None:
                self._parameters[key] = d.checked(d.default, f"model {self._name!r}: parameter {key!r}")
        found = {**self._declared, **declared}
        self._declared = {key: d for key, d in found.items() if d is not None}

    @property
    def declared(self) -> Mapping[str, Declared]:
        """What it declares, by name."""
        return self._declared

    @property
    def is_boundary(self) -> bool:
        """Whether a world, and no equation, gives its outputs."""
        return False

    def of_kind(self, kind: type[Any]) -> dict[str, Any]:
        """What it declares of a kind, by name."""
        return {key: d for key, d in self._declared.items() if isinstance(d, kind)}

    def method(self, name: str) -> Any:
        """A method or callback of its class; None: it has none."""
        return getattr(self, name, None)

    def port(self, name: str) -> Port:
        """An input, output or state.

        Raises:
            NameLookupError: there is none.
        """
        d = self._declared.get(name)
        if not isinstance(d, Input | Output | State):
            ports = [key for key, d in self._declared.items() if isinstance(d, Input | Output | State)]
            raise NameLookupError(f"port of model {self.path!r}", name, ports)
        return Port(self, d)

    @property
    def ports(self) -> tuple[Port, ...]:
        """Inputs, outputs and states, in the order of declaration."""
        return tuple(Port(self, d) for d in self._declared.values() if isinstance(d, Input | Output | State))

    @property
    def time(self) -> Any:
        """Inside of its methods, the time [s]."""
        return self._inside_value("time")

    @property
    def period(self) -> float:
        """Of its ticks [s].

        Raises:
            ModelError: it has no rate.
        """
        if self.clock is None:
            raise ModelError(f"model {self.path!r}: it is continuous, and has no period")
        return self.clock.period

    def _inside_value(self, name: str) -> Any:
        if self.inside is None:
            raise ModelError(f"model {self.path!r}: {name} is known inside of its methods; see System.time")
        return self.inside[name]

    # Parameters and initial values -------------------------------------------------------------------------

    def parameter(self, name: str) -> Any:
        """A parameter's value: a float, or an array (a copy)."""
        array = self._parameters[name]
        return array.copy() if array.shape else float(array)

    @property
    def parameters(self) -> dict[str, Any]:
        """Values by name (copies)."""
        return {name: self.parameter(name) for name in self._parameters}

    def set_parameters(self, **values: Any) -> None:
        """Set several parameters at once.

        Raises:
            NameLookupError: there is none of a name.
            ModelError: a value does not fit; nothing is changed.
        """
        checked = {}
        for key, value in values.items():
            if key not in self._parameters:
                raise NameLookupError(f"parameter of model {self.path!r}", key, list(self._parameters))
            checked[key] = self._declared[key].checked(value, f"model {self.path!r}: parameter {key!r}")
        self._parameters.update(checked)
        system = self.root_system()
        if system is not None:
            system.parameters_changed(self)

    def changed(self) -> None:
        """Write its equations down anew, after a change of what they take from attributes that are no parameters."""
        system = self.root_system()
        if system is not None:
            system.structure_changed()

    def restored(self) -> None:
        """A checkpoint has been put back: a model that changes its world otherwise than by ports does so again."""

    def removed(self) -> None:
        """It has been taken out of its system: one that changes its world otherwise than by ports puts that back."""

    def take_parameters(self, values: Mapping[str, Array]) -> None:
        """Parameters that its system has been given, flat."""
        self._parameters.update(
            {name: array.reshape(self._declared[name].shape).copy() for name, array in values.items()}
        )

    def initial_value(self, name: str) -> Array:
        """Of a state, at the start."""
        return self._initial[name]

    def parameter_values(self) -> dict[str, Array]:
        """All parameters as arrays."""
        return self._parameters

    # Its system --------------------------------------------------------------------------------------------

    def system_of(self, what: str) -> Any:
        """The system that it is in.

        Raises:
            StateError: it is in none.
        """
        system = self.root_system()
        if system is None:
            raise StateError(f"{what}: the model is in no system, and has no values; add it to one")
        return system

    def checked_results(self, found: Any, expected: Mapping[str, Declared], where: str) -> Mapping[str, Any]:
        """What a method returned: values by name.

        Raises:
            ModelError: no values by name, or others than were expected.
        """
        what = f"model {self.path!r}: {where}"
        if not isinstance(found, Mapping):
            raise ModelError(f"{what}: expected values by name, such as {{'{next(iter(expected), 'x')}': ...}}, "
                             f"got {found!r:.100}")  # fmt: skip
        unknown = [key for key in found if key not in expected]
        if unknown:
            raise ModelError(f"{what}: returned {unknown[0]!r}; expected {', '.join(map(repr, expected)) or 'nothing'}")
        return found

    def __repr__(self) -> str:
        rate = "continuous" if self.clock is None else str(self.clock)
        return f"{type(self).__name__}({self.path!r}, {rate})"


class PythonModel(Model):
    """A model whose methods are called from Python at each tick, with numbers: they may branch, and call anything.

    It has a rate. Each method is called when it is due; what lies between is compiled. Outputs depend on all inputs at
    once, unless they say on which (`Output.depends_on`). What else it keeps in attributes of its own is not part of
    checkpoints: declare states.

    Raises:
        ModelError: it has no rate.
    """

    is_python = True

    def numbers(self, name: str, found: Any, where: str) -> Array:
        """A value that a method returned, checked.

        Raises:
            StateError: it is not finite, or of another shape; the message names the port.
        """
        d = self.declared[name]
        array = numbers_or_nan(found)
        if array.shape != d.shape:
            raise StateError(f"{self.path}.{name}: {where} returned shape {array.shape}, expected {d.shape}")
        if not np.isfinite(array).all():
            raise StateError(f"{self.path}.{name}: {where} returned {found!r:.100}, expected finite numbers")
        return array


def declared_by(kind: type[Model]) -> dict[str, Declared]:
    """What a class of models declares, bases first.

    Raises:
        ModelError: a name that means something else in all models.
    """
    found: dict[str, Declared] = {}
    for base in reversed(kind.__mro__):
        for key, value in vars(base).items():
            if isinstance(value, Declared):
                found[key] = value
            elif key in found:
                del found[key]
    _check_names(found, f"class {kind.__name__}")
    return found


_OWN = {"inside", "clock", "parent", "given_states", *METHODS}  # besides what the base classes have


def _check_names(declared: Iterable[str], what: str) -> None:
    for name in declared:
        if name in _OWN or hasattr(PythonModel, name):
            raise ModelError(f"{what}: it declares {name!r}, which means something else in every model; rename it")
