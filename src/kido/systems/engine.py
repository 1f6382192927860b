"""The compiled side of a system: its values, its programs, and what runs them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from kido.errors import ModelError, StateError
from kido.integrators.integrator import CompiledIntegrator
from kido.integrators.schema import MOTION
from kido.systems import machine, programs
from kido.systems import schema as kinds
from kido.systems.declarations import Input, Noise, Output, Parameter, State
from kido.systems.linking import CONSTANT, HOLDING, Linked, direction_of
from kido.systems.operations import Blocks, Operation, needed
from kido.systems.schema import CODE, RECORDING, SYSTEM

MOST_RATES = 62
BUDGET = 10_000  # ticks and steps of integration until Python looks for signals


class Engine:
    """A system's program, for one structure.

    Args:
        linked: its values and operations.
        integrator: of continuous states.
        step: largest step of integration [s].
        recordings: what is written down: rate, signals' values, rows.
        kept: values of the structure before, by path, see `kept`.
    """

    def __init__(
        self,
        linked: Linked,
        integrator: CompiledIntegrator,
        step: float,
        recordings: Sequence[tuple[Any, list[int], int]] = (),
        kept: Mapping[str, Any] | None = None,
    ):
        self.linked = linked
        commands = [
            slot
            for m in linked.models
            if m.is_boundary
            for name in m.of_kind(Input)
            for slot in linked.slots[m.path, name]
        ]
        self.recordings: list[tuple[int, RECORDING]] = []
        for rate, slots, rows in recordings:
            made = RECORDING(signals=len(slots), room=rows)
            made.slot[:] = slots
            self.recordings.append((linked.rate_number(rate), made))
        if len(linked.rates) > MOST_RATES:
            raise ModelError(f"a system has at most {MOST_RATES} different rates, got {len(linked.rates)}")
        self.value: np.ndarray = np.array(linked.initial)
        self.structs = linked.models_structs(self.value)
        self._integrator = integrator
        self.motion = _motion(integrator, linked.num_states, step)
        n, rates = len(linked.crossings), len(linked.rates)
        logged = {k for _, r in self.recordings for k in r.slot.tolist() if not math.isnan(linked.initial[k])}
        checked = sorted(set(linked.held) | logged)  # a log has NaN for what is gone
        self.system = SYSTEM(
            value=self.value,
            values=len(self.value),
            motion=self.motion,
            continuous=linked.num_states,
            checks=len(checked),
            rates=rates,
            crossings=n,
            first_state=linked.first_state,
        )
        s = self.system
        s.rate_slot[:] = linked.rate_slots or [0] * linked.num_states
        s.checked[:] = checked
        for k, (m, name, slot, _) in enumerate(linked.crossings):
            s.crossing[k], s.direction[k] = slot, direction_of(m, name)
        s.before[:] = np.nan
        for k, rate in enumerate(linked.rates):
            s.whole[k], s.rest[k] = divmod(rate.numerator, rate.denominator)
            s.denominator[k] = rate.denominator
        self._blocks = Blocks()
        self._ticks: dict[int, tuple[int, int]] = {}
        self._programs: list[tuple[int, int]] = []
        self._visible = self._found_visible()
        own = linked.slots.items()
        models = {m.path: m for m in linked.models}
        self._outputs = [k for (p, name), slots in own if name in models[p].of_kind(Output) for k in slots]
        self._asking = sorted({linked.rate_number(c.model.clock) for c in linked.calls if c.model.clock is not None})
        self._first = list(linked.at_ticks)  # outputs that first ticks look at before: those that were not written yet
        self._take({} if kept is None else kept)
        self._write_programs(commands)
        for mask in _masks(linked):
            self._add_tick(mask)
        self._write_code()
        self.refresh()

    # Programs ----------------------------------------------------------------------------------------------

    def _found_visible(self) -> list[Operation]:
        """Operations of signals and derivatives between ticks, operands first."""
        linked = self.linked
        roots = [slot for slots in linked.slots.values() for slot in slots]
        roots += [*linked.rate_slots, *(slot for _, _, slot, _ in linked.crossings), *(r for _, r in linked.unknowns)]
        return needed(roots, linked.producer(set()))

    def _write_programs(self, commands: Sequence[int]) -> None:
        linked, levels = self.linked, self.linked.level_of
        constant = [op for op in needed(sorted(linked.always), linked.always.get) if levels(op.outs[0]) == CONSTANT]
        self._constant = constant
        self._program(constant, ())
        holding = [op for op in self._visible if levels(op.outs[0]) == HOLDING]
        self._program(holding, ())
        varying = {out: op for op in self._visible if levels(op.outs[0]) > HOLDING for out in op.outs}
        self._program_for(linked.rate_slots, varying)
        self._program_for(sorted(varying), varying)
        self._program_for([slot for _, _, slot, _ in linked.crossings], varying)
        self._program_for(commands, varying)
        producer = linked.producer(set())
        first = len(self._blocks)
        if linked.starts:
            self._add(needed(linked.starts, producer), producer)
            self._add(holding, None)
        self._programs.append((first, len(self._blocks)))
        for _, _, _, pairs in linked.crossings:
            first = len(self._blocks)
            self._add(needed([of for _, of in pairs], producer), producer)
            self._blocks.add_copies(pairs)
            self._programs.append((first, len(self._blocks)))

    def _program_for(self, roots: Iterable[int], made: dict[int, Operation]) -> None:
        self._program(needed(roots, made.get), made)

    def _program(self, operations: list[Operation], made: Any) -> None:
        first = len(self._blocks)
        self._add(operations, made.get if made else None)
        self._programs.append((first, len(self._blocks)))

    def _add(self, operations: list[Operation], producer: Any) -> None:
        """Operations, and with them what solves for the unknowns that they read."""
        unknowns = self.linked.unknowns
        read = {slot for op in operations for slot in op.reads}
        if producer is None or not any(slot in read for slot, _ in unknowns):
            self._blocks.add(operations)
            return
        outs = [out for op in operations for out in op.outs]
        whole = needed([*outs, *(r for _, r in unknowns)], producer)
        asking = [op.path for op in whole if op.kind == kinds.PYTHON]
        if asking:
            raise ModelError(
                f"an algebraic loop with a model of plain Python, {asking[0]}, is not solved; give a delay"
            )
        self._blocks.add_solved(whole, [u for u, _ in unknowns], [r for _, r in unknowns])

    def _add_tick(self, mask: int) -> None:
        linked, blocks = self.linked, self._blocks
        due = {k for k in range(len(linked.rates)) if mask >> k & 1}
        first = len(blocks)
        for rate in sorted(due):
            blocks.add(linked.noise.get(rate, ()))
        commits = [pair for rate in sorted(due) for pair in linked.commits.get(rate, ())]
        before, after = linked.producer(set()), linked.producer(due)
        updates = needed([of for _, of in commits], before)
        if mask & kinds.FIRST_TICK:  # outputs that updates read, of initial states
            read = {slot for op in updates for slot in op.reads}
            new = {out for out in self._first if self.system.fresh[linked.at_ticks[out][1]]}

            def first_of(slot: int) -> Operation | None:
                return after(slot) if slot in new or slot not in linked.at_ticks else None

            self._add(needed([out for out in self._first if out in read and out in new], first_of), first_of)
        self._add(updates, before)
        blocks.add_copies(commits)
        outputs = [out for out, (_, rate) in linked.at_ticks.items() if rate in due]
        self._add(needed(outputs, after), after)
        blocks.add([op for op in self._visible if linked.level_of(op.outs[0]) == HOLDING])
        varying = {out: op for op in self._visible if linked.level_of(op.outs[0]) > HOLDING for out in op.outs}
        for rate, recording in self.recordings:
            if rate in due:
                self._add(needed(recording.slot.tolist(), varying.get), varying.get)
                blocks.add_block(kinds.RECORD, (recording.address, 0, 0), [])
        self._ticks[mask] = first, len(blocks)

    def _write_code(self) -> None:
        b = self._blocks
        unknowns = len(b.unknowns)
        code = CODE(
            operations=len(b.rows),
            blocks=len(b.blocks),
            programs=len(self._programs),
            ticks=len(self._ticks),
            unknowns=unknowns,
            columns=unknowns + 1,
        )
        rows = np.array(b.rows, np.int64).reshape(-1, 4)
        code.out[:], code.a[:], code.b[:], code.c[:] = rows.T
        code.block[:] = np.array(b.blocks, np.int64).reshape(-1, 4)
        calls = code.block[:, 0] == kinds.CALL
        code.block[calls, 2] = [self.structs[place].address for place in code.block[calls, 2]]
        code.program[:] = np.array(self._programs, np.int64).reshape(-1, 2)
        code.mask[:] = list(self._ticks)
        code.tick[:] = np.array(list(self._ticks.values()), np.int64).reshape(-1, 2)
        code.unknown[:], code.residual[:] = b.unknowns, b.residuals
        self.system.code = code

    def owners(self, block: int) -> list[str]:
        """Paths of the models whose operations are in a block."""
        return self._blocks.owners[block]

    # Running -----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """What depends on parameters and on what is held, after one of them was set."""
        programs.run_one(self.system.address, kinds.CONSTANTS)
        programs.run_one(self.system.address, kinds.HELD)

    def signals(self) -> None:
        """Bring all signals to the present state."""
        self.check(programs.run_one(self.system.address, kinds.SIGNALS))

    def check_signals(self) -> None:
        """Raise StateError if an output that nothing is integrated from is not finite."""
        self.signals()
        if not np.isfinite(self.value[self._outputs]).all():
            at = f"at t = {self.time:g} s"
            self._name_first(at)
            self._name_slots(self._outputs, at)

    def run(self, stop: int, flush: Any) -> None:
        """Go on to a time [ns], and do what is due there.

        Args:
            flush: called when a recording is full.
        """
        self.system.stop = stop
        self._go_on(machine.advance, flush)

    def tick(self, flush: Any) -> None:
        """Do what is due now."""
        self._go_on(machine.tick_now, flush)

    def _go_on(self, call: Any, flush: Any) -> None:
        s, value, address = self.system, self.value, self.system.address
        call, calls = getattr(call, "call", call), [c.run for c in self.linked.calls]
        s.budget = BUDGET
        try:
            while True:
                status = call(address)
                if status >= kinds.ASKS_PYTHON:
                    calls[status - kinds.ASKS_PYTHON](value)
                elif status == kinds.UNKNOWN_TICK:
                    self._add_tick(s.due)
                    self._write_code()
                elif status == kinds.LOG_FULL:
                    flush()
                elif status == kinds.PAUSED:
                    s.budget = BUDGET
                else:
                    self.check(status)
                    return
        except BaseException:
            self.undo_tick()
            raise

    def next_python(self) -> int:
        """The next time [ns] at which Python is wanted: for one of its models, or for a recording that will be full."""
        s, rates = self.system, self._asking
        times = [int(s.next[k]) for k in rates]
        for k, r in self.recordings:
            times.append(int(s.next[k] + s.whole[k] * (len(r.times) - 1 - r.count)))
        return min(times, default=1 << 62)

    def undo_tick(self) -> None:
        """If a tick is under way, which failed: back to before it; it is still to be done."""
        s = self.system
        if s.pending:
            self.value[:] = s.undo
            s.pending = s.ticked = 0
            for rate, r in self.recordings:
                if s.due >> rate & 1 and r.count and r.times[r.count - 1] == s.now:
                    r.count -= 1

    # Failures ----------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """[s]"""
        return self.system.now / 1e9 + self.system.elapsed

    def check(self, status: int) -> None:
        """Raise the error that a status stands for; a tick that is under way is undone.

        Raises:
            StateError: as of `System.run`.
        """
        if status < 0:
            try:
                self._fail(status)
            finally:
                self.undo_tick()

    def _fail(self, status: int) -> NoReturn:
        at = f"at t = {self.time:g} s"
        if status == kinds.NOT_FINITE:
            self._not_finite(at)
        if status == kinds.NOT_SOLVED:
            ports = [c.target.path for c in self.linked.connections if c.solve]
            raise StateError(f"{at} Newton's method does not solve the algebraic loop through {', '.join(ports)}")
        if status == kinds.BAD_COMMAND:
            self.signals()
            self._name_first(at)
            ports = [m for m in self.linked.models if m.is_boundary]
            slots = [slot for m in ports for name in m.of_kind(Input) for slot in self.linked.slots[m.path, name]]
            self._name_slots(slots, at)
        if status == kinds.NO_MASS:
            massive = [m for m in self.linked.models if m.is_boundary and "mass" in m.declared]
            masses = {m.path: self.value[self.linked.slots[m.path, "mass"][0]] for m in massive}
            path = next(path for path, mass in masses.items() if not mass > 0.0)
            raise StateError(f"{at} {path}.mass is {masses[path]:g}; expected a mass above 0")
        if status == kinds.STANDS_STILL:
            names = [f"{m.path}.{name}" for m, name, _, _ in self.linked.crossings]
            passed = [name for name, fired in zip(names, self.system.fired, strict=False) if fired]
            raise StateError(
                f"{at} {', '.join(passed)} is passed again and again without time going on; a model that comes to rest "
                "there needs a state that says so"
            )
        if status == kinds.TOO_SMALL:
            raise StateError(f"{at} the tolerances ask for steps below rounding; {self._fastest()}")
        raise StateError(f"{at} the integrator's max_steps are used up between two ticks; {self._fastest()}")

    def _fastest(self) -> str:
        worst = int(np.argmax(np.abs(self.motion.L[0]))) if self.linked.num_states else -1
        for port, first, size in self.linked.continuous:
            if 0 <= worst - (first - self.linked.first_state) < size:
                return f"the fastest state is {port.path}"
        return "no state is integrated"

    def _not_finite(self, at: str) -> NoReturn:
        """Name the port where it began."""
        s, value, linked = self.system, self.value, self.linked
        bad = [slot for slot in s.checked.tolist() if not math.isfinite(value[slot])]
        if bad:
            raise StateError(f"{at} {self.port_of(bad[0])} is {value[bad[0]]}")
        n, end = linked.num_states, float(value[kinds.TIME])
        ended = value[linked.first_state : linked.first_state + n].copy()
        value[linked.first_state : linked.first_state + n] = self.motion.u0[:n]  # back to the start of the step
        for share in (0.0, 0.5, 1.0):  # what time alone brings about may come later in it
            value[kinds.TIME] = self.time + share * (end - self.time)
            programs.run_one(s.address, kinds.SIGNALS)
            self._name_first(at)
        value[kinds.TIME] = self.time
        why = next((f": {m.failure}" for m in linked.models if m.failure), "")
        for port, first, size in linked.continuous:
            k = first - linked.first_state
            if not np.isfinite(ended[k : k + size]).all():
                raise StateError(f"{at} {port.path} becomes NaN or infinite{why or '; a smaller step may help'}")
        raise StateError(f"{at} a value is NaN or infinite")

    def _name_first(self, at: str) -> None:
        """Raise StateError with the port at which values begin not to be finite, if one is."""
        bad = [(op, k) for op in (*self._constant, *self._visible) for k in op.outs if not math.isfinite(self.value[k])]
        if bad:
            path = bad[0][0].path
            slot = next((k for op, k in bad if op.path == path and self._known_as(k)), bad[0][1])
            why = next((f": {m.failure}" for m in self.linked.models if m.failure), "")
            raise StateError(f"{at} {self.port_of(slot, path)} is {self.value[slot]}{why}")

    def _name_slots(self, slots: Iterable[int], at: str) -> None:
        """Raise StateError with the first of these values that is not finite, if one is."""
        for slot in slots:
            if not math.isfinite(self.value[slot]):
                raise StateError(f"{at} {self.port_of(slot)} is {self.value[slot]}")

    def port_of(self, slot: int, path: str = "") -> str:
        """Path of an output, a state or an input whose value it is, or what is known of it."""
        return self._known_as(slot) or f"a value in the equations of {path}"

    def _known_as(self, slot: int) -> str:
        kinds_first = sorted(
            (not isinstance(m.declared[name], Output), m.path, name)
            for m in self.linked.models
            for name in m.declared
            if slot in self.linked.slots.get((m.path, name), ())
        )
        if kinds_first:
            return f"{kinds_first[0][1]}.{kinds_first[0][2]}"
        for target, slots in self.linked.delays.items():
            if slot in slots:
                return f"{target} (delayed)"
        for port, first, size in self.linked.continuous:
            if slot in self.linked.rate_slots[first - self.linked.first_state :][:size]:
                return f"the derivative of {port.path}"
        return ""

    # State -------------------------------------------------------------------------------------------------

    def remembered(self) -> dict[str, list[int]]:
        """Values that follow from nothing else: states, what is held, and where searches begin."""
        linked = self.linked
        found = {
            f"{m.path}.{name}": linked.slots[m.path, name]
            for m in linked.models
            for name, d in m.declared.items()
            if isinstance(d, State | Noise) or (isinstance(d, Output) and (m.clock is not None or m.is_boundary))
        }
        found |= {f"{target} (delayed)": slots for target, slots in linked.delays.items()}
        for slot, _ in linked.unknowns:
            found[f"unknown {slot}"] = [slot]
        return found

    def kept(self) -> dict[str, Any]:
        """What another structure goes on with, by path: `remembered`, and crossings when they were looked at last."""
        new = {out for out, flag in zip(self.linked.at_ticks, self.new_outputs(), strict=True) if flag}
        found: dict[str, Any] = {
            path: self.value[slots].copy() for path, slots in self.remembered().items() if not new.issuperset(slots)
        }
        pairs = zip(self.linked.crossings, self.system.before, strict=False)
        return found | {f"{m.path}.{name}": float(x) for (m, name, _, _), x in pairs}

    def _take(self, kept: Mapping[str, Any]) -> None:
        """Go on with what another structure kept; what is new begins."""
        written: set[int] = set()
        for path, slots in self.remembered().items():
            if path in kept and len(kept[path]) == len(slots):
                self.value[slots] = kept[path]
                written.update(slots)
        for k, (m, name, _, _) in enumerate(self.linked.crossings):
            self.system.before[k] = kept.get(f"{m.path}.{name}", math.nan)
        self.set_new_outputs([int(out not in written) for out in self.linked.at_ticks])

    def new_outputs(self) -> list[int]:
        """1 for each output of models with a rate that was not written yet."""
        first, fresh = set(self._first), self.system.fresh
        return [int(out in first and fresh[rate] != 0) for out, (_, rate) in self.linked.at_ticks.items()]

    def set_new_outputs(self, flags: Sequence[int]) -> None:
        """The same, from a checkpoint or for a beginning."""
        s, found = self.system, self.linked.at_ticks.items()
        new = [out for (out, _), flag in zip(found, flags, strict=True) if flag]
        s.fresh[:] = 0
        for out in new:
            s.fresh[self.linked.at_ticks[out][1]] = 1
        if new and new != self._first:  # programs of first ticks are made anew when they are wanted
            self._first = new
            self._ticks = {mask: blocks for mask, blocks in self._ticks.items() if not mask & kinds.FIRST_TICK}
            if self._programs:
                self._write_code()

    def begin(self) -> None:
        """Back to initial values, at time 0; parameters stay."""
        linked, s = self.linked, self.system
        parameters = {slot for m in linked.models for n in m.of_kind(Parameter) for slot in linked.slots[m.path, n]}
        own = [slot for slot in range(len(linked.initial)) if slot not in parameters]
        self.value[own] = np.array(linked.initial)[own]
        s.parts = s.part = s.steps = s.located = s.events = s.pending = s.failure = 0
        s.before[:] = np.nan
        self.set_new_outputs([1] * len(linked.at_ticks))
        configure(self.motion, self._integrator)
        self.set_clock(0, 0.0, 0)
        self.refresh()

    def set_clock(self, now: int, elapsed: float, ticked: int) -> None:
        """Set the time, and when each rate is due next; `ticked`: what is due now has been done."""
        s = self.system
        s.now, s.elapsed, s.ticked = now, elapsed, ticked
        done = bool(ticked) or elapsed > 0.0
        for k, rate in enumerate(self.linked.rates):
            number = now * rate.denominator // rate.numerator
            while rate.tick(number) < now or (done and rate.tick(number) == now):
                number += 1
            s.ticks[k], s.next[k] = number, rate.tick(number)
            s.carry[k] = number * rate.numerator % rate.denominator
        self.value[kinds.TIME] = self.time

    def topology(self) -> str:
        """Hash of all that a checkpoint must agree with: ports, equations and their numbers, rates, the integrator and
        its step; not of logs."""
        linked = self.linked
        ops = [*linked.always.items(), *((slot, op) for slot, (op, _) in linked.at_ticks.items())]
        whole = (
            sorted(linked.slots.items()),
            sorted((slot, op.kind, op.outs, op.reads, op.kind != kinds.CALL and op.row) for slot, op in ops),
            sorted((slot, rate) for slot, (_, rate) in linked.at_ticks.items()),
            sorted(linked.commits.items()),
            [(slot, pairs) for _, _, slot, pairs in linked.crossings],
            [(c.model.path, c.method, type(c.model).__qualname__) for c in linked.calls],
            [str(rate) for rate in linked.rates[: linked.num_rates]],
            linked.size,
            linked.fixed_numbers(),
            (
                type(self._integrator).__name__,
                sorted(self._integrator.parameters().items(), key=str),
                self.motion.max_step,
            ),
        )
        return hashlib.blake2b(repr(whole).encode(), digest_size=16).hexdigest()


def _motion(integrator: CompiledIntegrator, states: int, step: float) -> MOTION:
    motion = MOTION(bodies=0, dofs=states, outputs=0)
    motion.max_step = integrator.max_step if integrator.adaptive else step
    configure(motion, integrator)
    return motion


def configure(motion: MOTION, integrator: CompiledIntegrator) -> None:
    """A method of integration, as at the start."""
    largest, motion.retries = motion.max_step, 0
    integrator.configure(motion)
    motion.max_step = largest


def _masks(linked: Linked) -> list[int]:
    """Which rates are due together at times that are common multiples of whole periods; others are met in time."""
    periods = [rate.numerator if rate.denominator == 1 else 0 for rate in linked.rates]
    found = {p for p in periods if p}
    waiting = list(found)
    while waiting and len(found) < 1000:
        new = {math.lcm(waiting[0], p) for p in periods if p} - found
        waiting = [*waiting[1:], *new]
        found |= new
    masks = {sum(1 << k for k, p in enumerate(periods) if p and together % p == 0) for together in found}
    return sorted(masks | ({(1 << len(periods)) - 1 | kinds.FIRST_TICK} if periods else set()))
