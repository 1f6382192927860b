"""A tower of ten cubes stands still under several contact solvers, until somebody pushes it.

A port of DART's example `box_stacking`. Each cube has 0.1 m and 1 kg; the lowest carries ten times its weight. Solvers
are changed while the tower stands, and their residuals, of the same exact contact problem, are told: the exact solver
and Dantzig's keep the tower; projected Gauss-Seidel (PGS) leaves an error of the size of its iterations.
"""

import kido
from kido.demos.demo import Demo

SOLVERS: dict[str, kido.solvers.Solver] = {
    "N": kido.solvers.DefaultSolver(),
    "Z": kido.solvers.Dantzig(),
    "L": kido.solvers.Lemke(),
    "G": kido.solvers.PGS(),
}


def make():
    world = kido.models.stack(10)
    cubes = [world.skeleton(f"box_{k}").body(0) for k in range(10)]
    top = cubes[-1].world_transform[2, 3]
    demo = Demo(world, duration=5.0, camera=((2.6, -1.2, 1.2), (0, 0, 0.5)))

    for key, label, force in (("1", "Push the top to the left", 30.0), ("2", "Push the top to the right", -30.0)):

        @demo.key(key, label)
        def push(force=force):
            demo.push(cubes[-1], (0, force, 0), 0.1)

    @demo.key("3", "Push the middle, hard")
    def push_middle():
        demo.push(cubes[5], (0, 600, 0), 0.05)

    for key, solver in SOLVERS.items():

        @demo.key(key, f"Solver: {type(solver).__name__}")
        def choose(solver=solver):
            world.solver = solver

    @demo.slider("Friction", 0.0, 1.0, value=1.0)
    def friction(mu):
        for cube in cubes:
            cube.shape(0).set_surface(friction=mu)

    @demo.number("top has sunk [mm]")
    def sunk():
        return 1e3 * (top - cubes[-1].world_transform[2, 3])

    @demo.number("ground carries [N]")
    def load():
        return -float(world.skeleton("ground").body(0).contact_wrench[5])

    @demo.number("solver")
    def which():
        return f"{type(world.solver).__name__}, residual {world.report.residual:.1e}"

    return demo
