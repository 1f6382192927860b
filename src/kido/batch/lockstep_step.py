"""The step of eight worlds together: stages in lanes where there are such, all others world by world.

It is the step of `kido.simulation.step`, of worlds whose features have no stages in it but those of commands. Smooth
motion of robots and Newton's method along their trees are in lanes; in each world contacts are found, described and
handed back, and controllers called.
"""

from __future__ import annotations

from kido.batch.lockstep_struct import LOCKSTEP
from kido.batch.rollout_worker import keep_record, place_commands
from kido.constraints.impact_time import add_ways
from kido.jit import LANES, callback, entry, kernel, view
from kido.simulation.balance import COUPLED, note_held, place_anew, speeds
from kido.simulation.integrate import hand_back, move_balanced, report, take_impulses
from kido.simulation.kept_energy import changes_energy
from kido.simulation.predict import predict_trees, worse
from kido.simulation.step import (
    AT_ASSEMBLE,
    AT_DETECT,
    AT_INTEGRATE,
    AT_PREDICT,
    AT_SOLVE,
    NOWHERE,
    end_features,
    features,
    not_finite,
)
from kido.simulation.world_struct import BEGIN, WORLD

ENDED = -2  # of `at`: the step is done
TO_PREDICT, TO_DESCRIBE, TO_END = range(3)  # of `phase`: what comes next


@callback
def predict_others(world, tree_index, unused_1, unused_2):
    """`predict_trees` for one tree of a world. Returns its status."""
    return predict_trees(world, tree_index, tree_index + 1, 0)


@kernel
def predict_robots(x):
    """Free velocities of robots of all worlds, in lanes."""
    for j in range(LANES):
        x.failed[j] = 0
    for tree_index in range(x.robot.shape[0]):
        if x.robot[tree_index] != 0:
            x.gather(x, tree_index)
            x.predict(x, tree_index)
            x.scatter(x, tree_index)


@kernel
def predict_rest(x):
    """Free velocities of all other trees. Returns a lane where a coordinate has no inertia, and its status; or -1."""
    for j in range(LANES):
        if x.world[j] == 0 or x.at[j] != AT_PREDICT:
            continue
        x.at[j] = AT_DETECT
        result = x.failed[j]
        for tree_index in range(x.robot.shape[0]):
            if x.robot[tree_index] == 0:
                result = worse(result, x.predict_others(x.world[j], tree_index))
        if result != 0:
            return j, result
    return -1, 0


@kernel
def describe_all(x):
    """Contacts and problems of all worlds. Returns a lane that stopped, its stage and status; or -1."""
    for j in range(LANES):
        if x.world[j] == 0:
            continue
        w = view(WORLD, x.world[j])
        if x.at[j] == AT_DETECT:
            status = w.detect(w)
            if status != 0:
                return j, AT_DETECT, status
            x.at[j] = AT_ASSEMBLE
        if x.at[j] == AT_ASSEMBLE:
            status = w.assemble(w)
            if status != 0:
                return j, AT_ASSEMBLE, status
            x.at[j] = AT_SOLVE
    return -1, 0, 0


@kernel
def give_rest(x, j):
    """All that lanes know of its robots to the world in lane j."""
    for tree_index in range(x.robot.shape[0]):
        if x.robot[tree_index] != 0:
            x.scatter_rest(x, tree_index, j)


@kernel
def solve_robot(x, tree_index):
    """The islands of a robot in lanes: of worlds where few bodies are touched, then of the others."""
    for j in range(LANES):
        x.kept[j] = -1
    for dense in range(1, -1, -1):
        x.dense = dense
        if x.lay_out(x, tree_index) > 0:
            x.clear(x)
            x.fill(x, tree_index)
            x.solve(x, tree_index)
            x.keep(x, tree_index)
    found = 0
    for j in range(LANES):
        if x.kept[j] >= 0:
            x.done[j, x.solved[j]] = x.kept[j]
            x.solved[j] += 1
            found += 1
    if found > 0:
        x.clear_pulls(x, tree_index)
        x.pull(x, tree_index)
        x.apply(x, tree_index)
        x.keep_velocities(x, tree_index)
    for j in range(LANES):
        if x.kept[j] >= 0 and x.left[j] > 0:
            give_rest(x, j)
            w = view(WORLD, x.world[j])
            x.go_on_with(w.problem, x.kept[j], x.left[j])


@kernel
def solve_rest(x, j):
    """Islands of the world in lane j that lanes have not solved."""
    w = view(WORLD, x.world[j])
    problem = w.problem
    if x.solved[j] < problem.num_islands:
        give_rest(x, j)
    for island in range(problem.num_islands):
        left = True
        for n in range(x.solved[j]):
            left = left and x.done[j, n] != island
        if left:
            x.solve_one(problem, island)
    x.end_islands(problem)


@kernel
def solve_all(x):
    """Impulses of all worlds: islands of robots in lanes, then what is left of each world."""
    for j in range(LANES):
        if x.world[j] != 0:
            w = view(WORLD, x.world[j])
            x.begin_islands(w.problem)
            x.solved[j] = 0
    for tree_index in range(x.robot.shape[0]):
        if x.robot[tree_index] != 0:
            solve_robot(x, tree_index)
    for j in range(LANES):
        if x.world[j] != 0:
            solve_rest(x, j)


@kernel
def is_settled(x, w):
    """Whether rows that hold coordinates of robots of a world hold them one by one (`kido.simulation.balance`)."""
    settled = True
    for tree_index in range(x.robot.shape[0]):
        settled = settled and (x.robot[tree_index] == 0 or w.holds[tree_index] != COUPLED)
    return settled


@kernel
def balance_all(x):
    """Position correction of all worlds; velocity products of robots' second half of the step, and the momentum of
    those that float, in lanes."""
    found = 0
    for j in range(LANES):
        x.settled[j] = 0
        if x.world[j] != 0:
            w = view(WORLD, x.world[j])
            w.project_positions(w.problem, w)
            note_held(w.tree, w.problem, w)
            if is_settled(x, w):
                x.settled[j] = 1
                x.energy[j] = take_impulses(w)
                found += 1
            else:
                give_rest(x, j)
    for tree_index in range(x.robot.shape[0]):
        for j in range(LANES):
            x.moved[j, tree_index] = 0
        if x.robot[tree_index] != 0 and found > 0:
            x.gather_ends(x, tree_index)
            x.products(x, tree_index)
            x.keep_ends(x, tree_index)
            if x.gather_floating(x, tree_index) > 0:
                x.balance(x, tree_index)
                x.keep_floating(x, tree_index)


@kernel
def integrate_settled(x, w, j):
    """New positions and velocities of the world in lane j, whose robots have velocities by lanes."""
    t = w.tree
    h = w.time_step
    c = w.collision
    for tree_index in range(x.robot.shape[0]):
        if x.robot[tree_index] != 0:
            first, last = t.tree_body[tree_index], t.tree_body[tree_index + 1]
            if x.moved[j, tree_index] == 0:
                most, _ = speeds(w, w.problem, t.first_dof[first], t.first_dof[last])
                if changes_energy(t, w, w.problem, tree_index, most, h):
                    place_anew(t, w.data, first, last)
                move_balanced(t, w.data, w, w.problem, tree_index, most, h, c.sweep_push)
            hand_back(t, w.data, w, w.problem, first, last, h)
        else:
            w.integrate_share(w, tree_index, tree_index + 1, 0)
    if w.row_origins.num_impacts > 0:
        add_ways(t, w.data, c, w.problem, w.row_origins)
    report(c, w.problem, w, x.energy[j])
    w.steps += 1


@kernel
def end_all(x):
    """New states of all worlds. Returns a lane whose state is not finite, and which coordinate; or -1."""
    for j in range(LANES):
        if x.world[j] != 0 and x.at[j] == AT_SOLVE:
            w = view(WORLD, x.world[j])
            if x.settled[j] != 0:
                integrate_settled(x, w, j)
            else:
                w.integrate(w)
            x.at[j] = ENDED
            status = not_finite(w.data)
            if status != 0:
                return j, status
            end_features(w)
    return -1, 0


@kernel
def step_together(x):
    """One step of all worlds, or what is left of it. Returns a lane that stopped, its stage and status; or -1."""
    if x.phase == TO_PREDICT:
        predict_robots(x)
        x.phase = TO_DESCRIBE
    if x.phase == TO_DESCRIBE:
        lane, status = predict_rest(x)
        if lane >= 0:
            return lane, AT_PREDICT, status
        lane, stage, status = describe_all(x)
        if lane >= 0:
            return lane, stage, status
        solve_all(x)
        balance_all(x)
        x.phase = TO_END
    lane, status = end_all(x)
    if lane >= 0:
        return lane, AT_INTEGRATE, status
    x.phase = TO_PREDICT
    return -1, NOWHERE, 0


@entry(
    "UniTuple(i8,4)(i8,i8[::1],f8[:,:,::1],i8[::1],f8[:,:,::1],f8[:,:,::1],"
    "i8[::1],i8[::1],f8[:,::1],f8[:,:,:,::1],i8,i8,i8,i8)"
)
def run_together(
    address, driven, controls, dofs, q, u, sensor_of_shape, link, offset, wrenches, done, end, hold, every
):
    """Steps done+1 .. end of the samples in the lanes, as `run_sample` has it for one.

    Args:
        address: of the LOCKSTEP.
        done: steps that are done; a step that stopped goes on.

    Returns:
        Steps of all samples that are done; a lane that stopped, or -1; its stage and status.
    """
    x = view(LOCKSTEP, address)
    while done < end:
        if x.phase == TO_PREDICT:
            for j in range(LANES):
                if x.world[j] != 0:
                    w = view(WORLD, x.world[j])
                    place_commands(w.tree, w.data, driven, controls, x.sample[j], done // hold)
                    features(w, BEGIN)
                    x.at[j] = AT_PREDICT
        lane, stage, status = step_together(x)
        if lane >= 0:
            return done, lane, stage, status
        done += 1
        if done % every == 0:
            for j in range(LANES):
                if x.world[j] != 0:
                    keep_record(
                        x.world[j], dofs, q, u, sensor_of_shape, link, offset, wrenches, x.sample[j], done // every - 1
                    )
    return done, -1, NOWHERE, 0
