"""A small FMU for model exchange, FMI 2, compiled from C when a test wants it: a ball that bounces and is pushed.

dh/dt = v,    dv/dt = -g + push [clock odd] + wind,    clock counts quarters of seconds, in time events
at h = 0, falling: v+ = -e v, bounces + 1;    frozen (a Boolean input): v+ = 0 and the ball stays
"""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

_C = r"""
#include <stddef.h>
#include <stdlib.h>
#include <math.h>
typedef void (*Logger)(void *, const char *, int, const char *, const char *, ...);
typedef struct { Logger log; void *(*get)(size_t, size_t); void (*give)(void *); void *done, *env; } Callbacks;
typedef struct { int again, ends, nominals, values, defined; double next; } Info;
enum { INSTANTIATED, INITIALIZING, EVENTS, RUNNING };
typedef struct { double real[12]; int clock, bounces, frozen, stuck, state; double time; Callbacks call; } Ball;
enum { H, DH, V, DV, G, E, PUSH, WIND, LIMIT, FAIL, START };
static int fail(Ball *b, const char *text) { b->call.log(b->call.env, "ball", 3, "error", text); return 3; }
static void begin(Ball *b) {
    Callbacks call = b->call;
    *b = (Ball){{1.0, 0, 0, 0, 9.81, 0.7, 0, 0, 1e9, 0, 1.0}, 0, 0, 0, 0, INSTANTIATED, 0.0};
    b->call = call;
}
void *fmi2Instantiate(const char *n, int k, const char *g, const char *r, const Callbacks *c, int v, int l) {
    Ball *b = calloc(1, sizeof(Ball));
    b->call = *c;
    begin(b);
    return b;
}
void fmi2FreeInstance(void *c) { free(c); }
int fmi2Reset(void *c) { begin(c); return 0; }
int fmi2SetupExperiment(void *c, int a, double t, double start, int d, double e) { return 0; }
int fmi2EnterInitializationMode(void *c) { ((Ball *)c)->state = INITIALIZING; return 0; }
int fmi2ExitInitializationMode(void *c) { ((Ball *)c)->state = EVENTS; return 0; }
int fmi2EnterEventMode(void *c) { ((Ball *)c)->state = EVENTS; return 0; }
int fmi2EnterContinuousTimeMode(void *c) { ((Ball *)c)->state = RUNNING; return 0; }
int fmi2NewDiscreteStates(void *c, Info *i) {
    Ball *b = c;
    if (b->state != EVENTS) return fail(b, "not in event mode");
    while (b->time >= 0.25 * (b->clock + 1)) b->clock++;
    if (b->real[H] <= 0.0 && b->real[V] < 0.0) { b->real[V] *= -b->real[E]; b->bounces++; }
    if (b->frozen || b->stuck) b->real[V] = 0.0;
    *i = (Info){0, b->bounces > 20, 0, 1, 1, 0.25 * (b->clock + 1)};
    return 0;
}
int fmi2CompletedIntegratorStep(void *c, int n, int *event, int *ends) {
    *event = ((Ball *)c)->real[H] > ((Ball *)c)->real[LIMIT];
    if (*event) ((Ball *)c)->stuck = 1;
    *ends = 0;
    return 0;
}
int fmi2SetTime(void *c, double t) { ((Ball *)c)->time = t; return 0; }
int fmi2SetContinuousStates(void *c, const double *x, size_t n) {
    ((Ball *)c)->real[H] = x[0]; ((Ball *)c)->real[V] = x[1]; return 0;
}
int fmi2GetContinuousStates(void *c, double *x, size_t n) {
    x[0] = ((Ball *)c)->real[H]; x[1] = ((Ball *)c)->real[V]; return 0;
}
static void rates(Ball *b) {
    const double *r = b->real;
    b->real[DH] = r[V];
    b->real[DV] = b->frozen || b->stuck ? 0.0 : -r[G] + (b->clock % 2 ? r[PUSH] : 0.0) + r[WIND];
}
int fmi2GetDerivatives(void *c, double *x, size_t n) {
    Ball *b = c;
    rates(b);
    x[0] = b->real[DH];
    x[1] = b->real[FAIL] == 1.0 ? NAN : b->real[DV];
    return b->real[FAIL] == 2.0 ? fail(b, "the ball is lost") : 0;
}
int fmi2GetEventIndicators(void *c, double *z, size_t n) { z[0] = ((Ball *)c)->real[H]; return 0; }
int fmi2GetNominalsOfContinuousStates(void *c, double *x, size_t n) { x[0] = x[1] = 1.0; return 0; }
int fmi2GetReal(void *c, const unsigned *v, size_t n, double *x) {
    rates(c);
    for (size_t k = 0; k < n; k++) x[k] = ((Ball *)c)->real[v[k]];
    return 0;
}
int fmi2SetReal(void *c, const unsigned *v, size_t n, const double *x) {
    Ball *b = c;
    for (size_t k = 0; k < n; k++) {
        if (v[k] == G && b->state > INITIALIZING) return fail(b, "g is fixed");
        if (v[k] >= E && v[k] != WIND && b->state == RUNNING) return fail(b, "only in event mode");
        b->real[v[k]] = x[k];
        if (v[k] == START) b->real[H] = x[k];
    }
    return 0;
}
int fmi2GetInteger(void *c, const unsigned *v, size_t n, int *x) {
    for (size_t k = 0; k < n; k++) x[k] = v[k] ? ((Ball *)c)->bounces : ((Ball *)c)->clock;
    return 0;
}
int fmi2SetInteger(void *c, const unsigned *v, size_t n, const int *x) { return fail(c, "no integers"); }
int fmi2GetBoolean(void *c, const unsigned *v, size_t n, int *x) { x[0] = ((Ball *)c)->frozen; return 0; }
int fmi2SetBoolean(void *c, const unsigned *v, size_t n, const int *x) {
    if (n && ((Ball *)c)->state == RUNNING) return fail(c, "only in event mode");
    if (n) ((Ball *)c)->frozen = x[0];
    return 0;
}
int fmi2Terminate(void *c) { return 0; }
const char *fmi2GetVersion(void) { return "2.0"; }
const char *fmi2GetTypesPlatform(void) { return "default"; }
#define NO(name) int name(void *c) { return fail(c, #name); }
NO(fmi2SetDebugLogging) NO(fmi2GetString) NO(fmi2SetString) NO(fmi2GetFMUstate) NO(fmi2SetFMUstate)
NO(fmi2FreeFMUstate) NO(fmi2SerializedFMUstateSize) NO(fmi2SerializeFMUstate) NO(fmi2DeSerializeFMUstate)
NO(fmi2GetDirectionalDerivative)
"""

_XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Ball" guid="ball" numberOfEventIndicators="1">
  <ModelExchange modelIdentifier="Ball" needsExecutionTool="false"/>
  <UnitDefinitions>
    <Unit name="m"><BaseUnit m="1"/></Unit>
    <Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
    <Unit name="m/s2"><BaseUnit m="1" s="-2"/></Unit>
  </UnitDefinitions>
  <ModelVariables>
    <ScalarVariable name="ball.h" valueReference="0" variability="continuous" initial="calculated"><Real unit="m"/></ScalarVariable>
    <ScalarVariable name="der(h)" valueReference="1" variability="continuous" initial="calculated"><Real derivative="1"/></ScalarVariable>
    <ScalarVariable name="v" valueReference="2" causality="output" variability="continuous" initial="exact"><Real unit="m/s" start="0"/></ScalarVariable>
    <ScalarVariable name="der(v)" valueReference="3" variability="continuous" initial="calculated"><Real derivative="3"/></ScalarVariable>
    <ScalarVariable name="g" valueReference="4" causality="parameter" variability="fixed"><Real unit="m/s2" start="9.81" min="0"/></ScalarVariable>
    <ScalarVariable name="e" valueReference="5" causality="parameter" variability="tunable"><Real start="0.7" min="0" max="1"/></ScalarVariable>
    <ScalarVariable name="push" valueReference="6" causality="parameter" variability="tunable"><Real start="0" unit="m/s2"/></ScalarVariable>
    <ScalarVariable name="wind" valueReference="7" causality="input" variability="continuous"><Real start="0" unit="m/s2"/></ScalarVariable>
    <ScalarVariable name="limit" valueReference="8" causality="parameter" variability="tunable"><Real start="1e9" unit="m"/></ScalarVariable>
    <ScalarVariable name="fail" valueReference="9" causality="parameter" variability="tunable"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="start" valueReference="10" causality="parameter" variability="fixed"><Real start="1" unit="m"/></ScalarVariable>
    <ScalarVariable name="clock" valueReference="0" causality="output" variability="discrete"><Integer/></ScalarVariable>
    <ScalarVariable name="bounces" valueReference="1" variability="discrete"><Integer/></ScalarVariable>
    <ScalarVariable name="frozen" valueReference="0" causality="input" variability="discrete"><Boolean start="false"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="3"/><Unknown index="12"/></Outputs>
    <Derivatives><Unknown index="2"/><Unknown index="4"/></Derivatives>
    <InitialUnknowns><Unknown index="1"/><Unknown index="2"/><Unknown index="4"/><Unknown index="12"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""  # noqa: E501


def has_compiler() -> bool:
    """Whether there is one."""
    return shutil.which("gcc") is not None


def ball_fmu(folder: Path, platform: str = "linux64") -> Path:
    """The FMU, in a folder."""
    source, library, path = folder / "ball.c", folder / "Ball.so", folder / "Ball.fmu"
    source.write_text(_C)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-w", "-o", library, source, "-lm"], check=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", _XML)
        archive.write(library, f"binaries/{platform}/Ball{'.so' if platform.startswith('linux') else '.dll'}")
    return path
