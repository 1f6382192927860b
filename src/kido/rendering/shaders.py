"""What a graphics card computes of images, in GLSL: the rays and colours of `raster` and `shading`, a sample at a time.

Images are tiles of one frame. A row of `frames` has of one image: lights in camera axes (texels 0 to 2), the pose of
the camera in the axes of the light's (3 to 5), focal length in samples, near and far of the camera (6) and of the
light's, with the size of a texel of its map (7).
"""

from __future__ import annotations

from kido.collision.primitives import PRIMITIVE_NAMES
from kido.rendering import shading
from kido.rendering.structs import PLANE

_NUMBERS = {
    **{name: shading.__dict__[name] for name in ("KEY", "FILL", "CELL_LINE", "SECTION_LINE", "LINE_WIDTH")},
    **{name: "vec3({}, {}, {})".format(*shading.__dict__[name]) for name in ("SKY", "GROUND")},
    "PLANE": PLANE,
    **{name.upper(): k + 1 for k, name in enumerate(PRIMITIVE_NAMES)},
}
_HEAD = "#version 330\n" + "".join(f"#define {name} {value}\n" for name, value in _NUMBERS.items())

_VERTEX = """
uniform sampler2D frames;
uniform int eye;           // texel of `frames` that says how far is seen: 6 or 7
uniform vec2 tiles, edge;  // columns and rows of images in the frame; samples along their edges
in vec3 corner, normal, tint;
in vec2 place_on_image;
in vec4 thing;             // number of its image, kind, number of its shape, nothing
in vec3 half_size;
in vec4 color, right, down, forward;  // rows of its pose in camera axes
flat out vec4 own, part, row0, row1, row2;
flat out vec3 size;
out vec3 facing, dye;
out vec2 where;

void main() {
    vec4 range = texelFetch(frames, ivec2(eye, int(thing.x)), 0);
    own = color; part = thing; size = half_size; row0 = right; row1 = down; row2 = forward;
    vec3 p = corner;
    bool plane = false;
    if (SOLID) {
        int kind = int(thing.y);
        plane = kind == PLANE;
        vec3 box = vec3(size.x);
        if (kind == BOX || kind == ELLIPSOID) box = size;
        if (kind == CYLINDER || kind == CONE) box = size.xxy;
        if (kind == CAPSULE) box = vec3(size.xx, size.x + size.y);
        p *= 1.001 * box;
    }
    vec4 q = vec4(p, 1.0);
    q.xyz = vec3(dot(right, q), dot(down, q), dot(forward, q));
    vec4 at = plane ? vec4(corner.xy, 0.0, 1.0) : vec4(2.0 * range.x * q.xy / edge, 0.0, q.z);
    gl_ClipDistance[0] = at.w + at.x;
    gl_ClipDistance[1] = at.w - at.x;
    gl_ClipDistance[2] = at.w + at.y;
    gl_ClipDistance[3] = at.w - at.y;
    gl_ClipDistance[4] = plane ? 1.0 : at.w - range.y;
    vec2 tile = vec2(mod(thing.x, tiles.x), floor(thing.x / tiles.x));
    gl_Position = vec4((at.xy + at.w * (2.0 * tile + 1.0 - tiles)) / tiles, 0.0, at.w);
    facing = vec3(dot(right.xyz, normal), dot(down.xyz, normal), dot(forward.xyz, normal));
    dye = tint;
    where = place_on_image;
}
"""

_RAYS = """
// Where the ray o + t d enters a solid about the origin, and its normal n there; o is where the ray is nearest to it.

bool ball(vec3 o, vec3 d, float r, out float t) {
    float a = dot(d, d), b = dot(o, d);
    vec3 e = o - b / a * d;
    float q = r * r - dot(e, e);
    t = (-b - sqrt(a * max(q, 0.0))) / a;
    return q >= 0.0;
}

bool slabs(vec3 o, vec3 d, vec3 box, out float t, out vec3 n) {
    vec3 inverse = 1.0 / mix(d, vec3(1e-20), lessThan(abs(d), vec3(1e-20)));
    vec3 low = -o * inverse - box * abs(inverse), high = -o * inverse + box * abs(inverse);
    t = max(max(low.x, low.y), low.z);
    n = -sign(d) * vec3(equal(low, vec3(t)));
    return t <= min(min(high.x, high.y), high.z);
}

bool tube(vec3 o, vec3 d, float r, float tall, out float t, out vec3 n) {
    float a = dot(d.xy, d.xy), b = dot(o.xy, d.xy), near = -1e20, far = 1e20;
    if (a > 1e-20) {
        vec2 e = o.xy - b / a * d.xy;
        float q = r * r - dot(e, e);
        if (q < 0.0) return false;
        float root = sqrt(q / a);
        near = -b / a - root;
        far = -b / a + root;
    } else if (dot(o.xy, o.xy) > r * r) return false;
    float high;
    if (abs(d.z) < 1e-20) {
        t = -1e20;
        high = abs(o.z) > tall ? -1e20 : 1e20;
    } else {
        t = (-o.z - tall * sign(d.z)) / d.z;
        high = (-o.z + tall * sign(d.z)) / d.z;
    }
    n = vec3(0.0, 0.0, -sign(d.z));
    if (near > t) {
        t = near;
        n = vec3((o.xy + t * d.xy) / r, 0.0);
    }
    return t <= min(far, high);
}

bool pill(vec3 o, vec3 d, float r, float tall, out float t, out vec3 n) {
    bool found = tube(o, d, r, tall, t, n) && n.z == 0.0;
    if (!found) t = 1e20;
    for (int end = -1; end <= 1; end += 2) {
        float own;
        vec3 middle = o - vec3(0.0, 0.0, end * tall);
        if (ball(middle, d, r, own) && own < t) {
            t = own;
            n = (middle + t * d) / r;
            found = true;
        }
    }
    return found;
}

bool cone(vec3 o, vec3 d, float r, float tall, out float t, out vec3 n) {
    float k = r / (2.0 * tall), s = tall - o.z;
    float a = dot(d.xy, d.xy) - k * k * d.z * d.z, b = dot(o.xy, d.xy) + k * k * s * d.z;
    float c = dot(o.xy, o.xy) - k * k * s * s, q = b * b - a * c;
    t = 1e20;
    if (q >= 0.0) {
        float w = -b - (b < 0.0 ? -1.0 : 1.0) * sqrt(q);
        for (int which = 0; which < 2; which++) {
            float own = which == 0 ? c / w : w / a, depth = s - own * d.z;
            vec2 p = o.xy + own * d.xy;
            vec3 m = normalize(vec3(p / max(length(p), 1e-20), k));
            if (own < t && depth >= 0.0 && depth <= 2.0 * tall && dot(m, d) < 0.0) {
                t = own;
                n = m;
            }
        }
    }
    float base = (-tall - o.z) / d.z;
    if (d.z > 0.0 && base < t && length(o.xy + base * d.xy) <= r) {
        t = base;
        n = vec3(0.0, 0.0, -1.0);
    }
    return t < 1e20;
}

bool hit(int kind, vec3 size, vec3 o, vec3 d, out float t, out vec3 n) {
    float shift = -dot(o, d) / dot(d, d);
    o += shift * d;
    bool found;
    if (kind == BOX) found = slabs(o, d, size, t, n);
    else if (kind == CYLINDER) found = tube(o, d, size.x, size.y, t, n);
    else if (kind == CAPSULE) found = pill(o, d, size.x, size.y, t, n);
    else if (kind == CONE) found = cone(o, d, size.x, size.y, t, n);
    else {
        found = ball(o / size, d / size, 1.0, t);
        n = normalize((o + t * d) / (size * size));
    }
    t += shift;
    return found;
}
"""

_FRAGMENT = """
uniform sampler2D frames, image, map, sky, solid, before;
uniform int eye;
uniform vec2 tiles, edge;
uniform float fade, texels, oversampling;
uniform bool textured, painted, layered, peeled;
flat in vec4 own, part, row0, row1, row2;
flat in vec3 size;
in vec3 facing, dye;
in vec2 where;
layout(location = 0) out vec2 seen;   // depth and number of the shape
layout(location = 1) out vec4 paint;  // linear light, opacity

float line_share(float position, float spacing, float footprint) {
    float away = abs(position - floor(position / spacing + 0.5) * spacing);
    float fine = min(1.0, spacing / (6.0 * footprint + 1e-12));
    return fine * max(0.0, 1.0 - away / max(LINE_WIDTH * footprint, 1e-12));
}

float grid_share(vec3 x, vec3 y, vec3 n, vec3 p, vec3 way, float t, float focal) {
    float across = oversampling * t * length(way) / focal, steep = max(abs(dot(n, normalize(way))), 1e-4), share = 0.0;
    for (int axis = 0; axis < 2; axis++) {
        vec3 side = axis == 0 ? x : y;
        float u = dot(side, t * way - p);
        float footprint = across + (across / steep - across) * abs(dot(side, normalize(way)));
        share = max(share, CELL_LINE * line_share(u, size.x, footprint));
        share = max(share, SECTION_LINE * line_share(u, 5.0 * size.x, 1.3 * footprint));
    }
    return share;
}

float lit_share(int k, vec2 tile, vec3 p, vec3 n) {
    vec4 range = texelFetch(frames, ivec2(7, k), 0), q = vec4(p + 2.0 * range.w * n, 1.0);
    vec3 s = vec3(dot(texelFetch(frames, ivec2(3, k), 0), q), dot(texelFetch(frames, ivec2(4, k), 0), q),
                  dot(texelFetch(frames, ivec2(5, k), 0), q));
    vec2 u = s.xy / s.z * range.x + 0.5 * texels - 0.5;
    if (s.z <= 0.0 || any(lessThan(u, vec2(1.0))) || any(greaterThanEqual(u, vec2(texels - 3.0)))) return 1.0;
    ivec2 first = ivec2(u) + ivec2(tile * texels);
    vec2 f = u - floor(u);
    float lit = 0.0;
    for (int j = -1; j < 3; j++)
        for (int i = -1; i < 3; i++) {
            float there = texelFetch(map, first + ivec2(i, j), 0).x;
            float share = (i == -1 ? 1.0 - f.x : i == 2 ? f.x : 1.0) * (j == -1 ? 1.0 - f.y : j == 2 ? f.y : 1.0);
            if (there == 0.0 || there > s.z - range.w) lit += share;
        }
    return lit / 9.0;
}

void main() {
    int k = int(part.x);
    vec2 tile = vec2(mod(part.x, tiles.x), floor(part.x / tiles.x)), sample_ = gl_FragCoord.xy - tile * edge;
    vec4 range = texelFetch(frames, ivec2(eye, k), 0);
    vec3 way = vec3((sample_ - 0.5 * edge) / range.x, 1.0), light = own.rgb, p = vec3(row0.w, row1.w, row2.w), n;
    mat3 turned = mat3(row0.xyz, row1.xyz, row2.xyz);  // from camera axes to the thing's
    bool plane = SOLID && int(part.y) == PLANE;
    float t;
    if (SOLID) {
        n = vec3(row0.z, row1.z, row2.z);
        if (plane) {
            t = dot(n, p) / dot(n, way);
            if (dot(n, way) >= 0.0) discard;
        } else {
            if (!hit(int(part.y), size, -(turned * p), turned * way, t, n)) discard;
            n = n * turned;
        }
    } else {
        t = 1.0 / gl_FragCoord.w;
        n = normalize(gl_FrontFacing ? facing : -facing);
        if (textured) light = texture(image, where).rgb;
        else if (dye.x >= 0.0) light = dye;
        float away = dot(n, way) / dot(way, way);
        if (away > 0.0) n = normalize(n - away * way);
    }
    if (t < range.y || t > range.z) discard;
    if (layered) {
        float last = texelFetch(solid, ivec2(gl_FragCoord.xy), 0).x;
        if (last > 0.0 && t >= last) discard;
        if (peeled) {
            float first = texelFetch(before, ivec2(gl_FragCoord.xy), 0).x;
            if (first == 0.0 || t <= 1.000001 * first) discard;
        }
    }
    gl_FragDepth = clamp(range.y / t, 0.0, 1.0);
    seen = vec2(t, part.z);
    if (!painted) return;
    if (plane && size.x > 0.0) {
        vec3 x = vec3(row0.x, row1.x, row2.x), y = vec3(row0.y, row1.y, row2.y);
        light *= 1.0 - grid_share(x, y, n, p, way, t, range.x);
    }
    float key = max(dot(n, texelFetch(frames, ivec2(1, k), 0).xyz), 0.0);
    if (key > 0.0 && texels > 0.0) key *= lit_share(k, tile, t * way, n);
    float lamps = KEY * key + FILL * max(dot(n, texelFetch(frames, ivec2(2, k), 0).xyz), 0.0);
    light *= lamps + mix(GROUND, SKY, 0.5 + 0.5 * dot(n, texelFetch(frames, ivec2(0, k), 0).xyz));
    if (plane) {
        float far = t * length(way) / fade;
        light = mix(light, texelFetch(sky, ivec2(0, int(sample_.y / oversampling)), 0).rgb, 1.0 - exp(-far * far));
    }
    paint = vec4(light, layered ? own.a : 1.0);
}
"""

_WHOLE_FRAME = """
void main() {
    gl_Position = vec4(4.0 * (gl_VertexID & 1) - 1.0, 2.0 * (gl_VertexID & 2) - 1.0, 0.0, 1.0);
}
"""

_MERGE = """
uniform sampler2D layer;
layout(location = 0) out vec4 front;

void main() {
    vec4 own = max(texelFetch(layer, ivec2(gl_FragCoord.xy), 0), 0.0);
    front = vec4(own.a * own.rgb, own.a);
}
"""

_FINISH = """
uniform sampler2D painted, front, sky;
uniform int n;
uniform float height;
uniform bool fronted;
layout(location = 0) out vec4 code;

void main() {
    ivec2 pixel = ivec2(gl_FragCoord.xy);
    vec3 behind = texelFetch(sky, ivec2(0, int(mod(gl_FragCoord.y, height))), 0).rgb, sum = vec3(0.0);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            vec4 own = texelFetch(painted, n * pixel + ivec2(i, j), 0);
            vec3 light = own.a > 0.0 ? own.rgb : behind;
            if (fronted) {
                vec4 over = texelFetch(front, n * pixel + ivec2(i, j), 0);
                light = over.rgb + over.a * light;
            }
            sum += min(light, 1.0);
        }
    vec3 mean = sum / float(n * n);
    vec3 bright = 1.055 * pow(mean, vec3(1.0 / 2.4)) - 0.055;
    code = vec4(mix(bright, 12.92 * mean, lessThanEqual(mean, vec3(0.0031308))), 1.0);
}
"""


def _solid(value: bool, text: str) -> str:
    return f"{_HEAD}#define SOLID {str(value).lower()}\n{text}"


# What `moderngl.Context.program` takes: solids by their rays, triangles, a layer over another, and bytes of sRGB.
SOLIDS = {"vertex_shader": _solid(True, _VERTEX), "fragment_shader": _solid(True, _RAYS + _FRAGMENT)}
MESHES = {"vertex_shader": _solid(False, _VERTEX), "fragment_shader": _solid(False, _RAYS + _FRAGMENT)}
MERGE = {"vertex_shader": _HEAD + _WHOLE_FRAME, "fragment_shader": _HEAD + _MERGE}
FINISH = {"vertex_shader": _HEAD + _WHOLE_FRAME, "fragment_shader": _HEAD + _FINISH}
