"use strict";
/* Draws the timeline: of the level of detail that suits the zoom, the marks that are visible.

The data lie in the page as compressed blocks (see blocks.py and levels.py), of which those that are
needed are unpacked. Bokeh draws, zooms and moves; this script fills its glyphs and shows what is
under the mouse. Texts of the data get into the page as text alone. */
(() => {
const AHEAD = 0.5;        // of the visible width is drawn on either side, for moving without a gap
const KEPT = 64;          // unpacked blocks that are kept while they are not visible
const ROW = 20;           // pixels
const LOWEST = 0.25;      // of its lane has a mark that is hardly busy
const SIDES = ["left", "right", "top", "bottom"];
const HEIGHTS = [[0.08, 0.92], [0.08, 0.92], [0.55, 0.92]];   // of a row, by layer
const SHOWN = 3;          // marks in the box at the mouse
const WORDS = {path: "file", outcome: "state", link: "began after", after: "task before", told_by: "recorded by", size_bytes: "bytes of the result", begins_us: "begins, says the scheduler",
  ends_us: "ends, says the scheduler"};

const element = id => document.getElementById(id);
const index = JSON.parse(element("index").textContent);
const frame = element("frame"), tip = element("tip"), lanes = element("lanes");
const number = new Intl.NumberFormat("en", {maximumFractionDigits: 9});
let figure, times, rows;             // models of Bokeh
let visible = [];                    // by row, the marks that are drawn there
let asked = 0, waiting = 0;

// ---- blocks

const unpacked = new Map();          // number of a block -> promise of its columns or lines

function block(place) {
  let found = unpacked.get(place);
  if (found) unpacked.delete(place); // to the end of the queue
  else found = unpack(place);
  unpacked.set(place, found);
  return found;
}

async function unpack(place) {
  const head = index.blocks[place];
  const text = atob(element(`block-${place}`).textContent);
  const packed = Uint8Array.from(text, character => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const raw = await new Response(stream).arrayBuffer();
  if (head.kind === "args") return new TextDecoder().decode(raw).split("\n");
  const columns = {head, place};
  let at = 0;
  for (const [name, kind] of Object.entries(index.columns[head.kind])) {
    columns[name] = new (kind === "<f8" ? Float64Array : Uint32Array)(raw, at, head.rows);
    at += columns[name].byteLength;
  }
  return columns;
}

function forget(needed) {
  for (const place of unpacked.keys()) {
    if (unpacked.size <= KEPT + needed.size) return;
    if (!needed.has(place)) unpacked.delete(place);
  }
}

// ---- what is visible

function micros(range) { return [range.start * 1e6, range.end * 1e6]; }

function level(pixel) {
  const fine = index.widths.findIndex(width => width <= pixel);
  return fine < 0 ? index.widths.length - 1 : fine;
}

function wanted(chosen, from, to) {
  const places = [];
  index.blocks.forEach((head, place) => {
    const drawn = head.kind === "alone" ? head.level <= chosen
      : head.kind === "merged" && head.level === chosen;
    if (drawn && head.begin <= to && head.end >= from) places.push(place);
  });
  return places;
}

async function refresh() {
  const mine = ++asked;
  const [begin, end] = micros(times);
  const pixel = (end - begin) / Math.max(figure.inner_width, 1);
  const from = begin - AHEAD * (end - begin), to = end + AHEAD * (end - begin);
  const chosen = level(pixel);
  const places = wanted(chosen, from, to);
  const parts = await Promise.all(places.map(block));
  if (mine !== asked) return;        // something newer is on its way
  forget(new Set(places));
  draw(parts, {from, to, pixel, begin, end});
}

function draw(parts, view) {
  const top = Math.floor(rows.end) - 1, bottom = Math.ceil(rows.start) + 1;
  const glyphs = index.kinds.map(() => SIDES.map(() => []));
  const counts = {alone: 0, merged: 0, marks: 0};
  visible = Array.from({length: index.height}, () => []);
  for (const part of parts) {
    const {start, dur, lane, name} = part;
    for (let i = 0; i < start.length; i++) {
      const row = index.rows[lane[i]], end = start[i] + dur[i];
      if (row < top || row > bottom || end < view.from || start[i] > view.to) continue;
      const mark = shape(part, i, row, Math.max(end, start[i] + view.pixel));
      visible[row].push(mark);
      glyphs[mark.kind].forEach((side, k) => side.push(mark.sides[k]));
      if (end >= view.begin && start[i] <= view.end && row + 1 > rows.end && row < rows.start) {
        if (part.count) { counts.merged += part.count[i]; counts.marks++; } else counts.alone++;
      }
    }
  }
  glyphs.forEach((sides, kind) => {
    const data = Object.fromEntries(SIDES.map((side, k) => [side, Float64Array.from(sides[k])]));
    renderer(kind).data_source.data = data;
  });
  say(counts, view.pixel);
}

function shape(part, i, row, right) {
  const kind = index.kind_of_name[part.name[i]], layer = index.kinds[kind][2];
  const [high, low] = HEIGHTS[layer];
  const share = part.count ? Math.max(part.busy[i] / Math.max(part.dur[i], 1), LOWEST) : 1;
  const sides = [part.start[i] / 1e6, right / 1e6, row + low - (low - high) * Math.min(share, 1), row + low];
  return {part, i, kind, layer, sides};
}

function say(counts, pixel) {
  const alone = `${number.format(counts.alone)} drawn as themselves`;
  const merged = `${number.format(counts.merged)} in ${number.format(counts.marks)} marks that stand for several`;
  element("state").textContent = `In view: ${number.format(counts.alone + counts.merged)} of `
    + `${number.format(index.events)} events, ${alone}, ${merged}. A pixel is ${duration(pixel, 3)}.`;
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(() => refresh().catch(trouble), 60);
}

// ---- words

function duration(micros, digits = 7) {
  const [size, unit] = micros >= 1e6 ? [1e6, "s"] : micros >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  return `${number.format(+(micros / size).toPrecision(digits))} ${unit}`;
}

function moment(micros) {
  const epoch = index.start + micros, whole = Math.floor(epoch / 1e3);
  const rest = String(Math.round(epoch - whole * 1e3)).padStart(3, "0");
  return `${(micros / 1e6).toFixed(6)} s (${new Date(whole).toISOString().replace("Z", rest + "Z")})`;
}

function value(name, it) {
  if (Array.isArray(it)) return it.join(", ");
  if (name.endsWith("_us")) return moment(it);
  return typeof it === "number" ? number.format(it) : String(it);
}

async function facts(mark) {
  const {part, i} = mark, [category, name] = index.names[part.name[i]];
  const list = [["start", moment(part.start[i])], ["duration", duration(part.dur[i])]];
  if (part.count) {
    const busy = 100 * part.busy[i] / Math.max(part.dur[i], 1);
    list.push(["busy", `${+busy.toPrecision(3)} %`], ["most time", name]);
    return [`${number.format(part.count[i])} events in one mark; zoom in to see them`, list];
  }
  const lines = await block(part.place + 1);
  for (const [key, it] of Object.entries(JSON.parse(lines[i]))) {
    if (it !== null && it !== undefined) list.push([WORDS[key] ?? key.replaceAll("_", " "), value(key, it)]);
  }
  const side = category === "transfer.untold" ? " (as the other side recorded it)" : "";
  return [name + side, list];
}

// ---- the mouse

let pointed = 0;

async function point(event) {
  const mine = ++pointed;
  const {x, y} = event;
  const found = (visible[Math.floor(y)] ?? []).filter(({kind, sides: [left, right, top, bottom]}) =>
    renderer(kind).visible && left <= x && x <= right && top <= y && y <= bottom);
  if (!found.length) { tip.hidden = true; return; }
  found.sort((a, b) => b.layer - a.layer || (a.sides[1] - a.sides[0]) - (b.sides[1] - b.sides[0]));
  const shown = await Promise.all(found.slice(0, SHOWN).map(facts));
  if (mine !== pointed) return;
  const lane = index.lanes[found[0].part.lane[found[0].i]];
  tip.replaceChildren(...shown.flatMap(([title, list]) => [text("b", title), pairs(list)]),
    text("span", lane.filter(Boolean).join(" · ")));
  tip.hidden = false;
  const box = frame.getBoundingClientRect();
  place(box.left + event.sx, box.top + event.sy);
}

function place(x, y) {
  const left = x + 14 + tip.offsetWidth > innerWidth ? x - 14 - tip.offsetWidth : x + 14;
  const top = y + 14 + tip.offsetHeight > innerHeight ? y - 14 - tip.offsetHeight : y + 14;
  tip.style.left = `${Math.max(left, 4)}px`;
  tip.style.top = `${Math.max(top, 4)}px`;
}

function text(kind, words) {
  const made = document.createElement(kind);
  made.textContent = words;
  return made;
}

function pairs(list) {
  const made = document.createElement("dl");
  made.append(...list.flatMap(([term, words]) => [text("dt", term), text("dd", words)]));
  return made;
}

// ---- moving

function between(low, high, bounds) {
  const size = Math.min(high - low, bounds[1] - bounds[0]);
  const from = Math.min(Math.max(low, bounds[0]), bounds[1] - size);
  return [from, from + size];
}

function zoom(factor, share = 0) {
  const middle = (times.start + times.end) / 2 + share * (times.end - times.start);
  const half = Math.max((times.end - times.start) * factor, times.min_interval) / 2;
  const [start, end] = between(middle - half, middle + half, times.bounds);
  times.setv({start, end});
}

function lift(by) {
  const [end, start] = between(rows.end + by, rows.start + by, rows.bounds);
  rows.setv({start, end});
}

const KEYS = {
  "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => zoom(Infinity),
  ArrowLeft: () => zoom(1, -0.25), ArrowRight: () => zoom(1, 0.25),
  ArrowUp: () => lift(-3), ArrowDown: () => lift(3),
  PageUp: () => lift(rows.end - rows.start), PageDown: () => lift(rows.start - rows.end),
};

function resize() {
  const edge = figure.outer_height - figure.inner_height || 90;
  const room = innerHeight - frame.getBoundingClientRect().top - scrollY - 50;
  figure.height = Math.max(Math.min(index.height * ROW + edge, room), 240);
}

function fit() {
  const shown = Math.min(figure.inner_height / ROW, index.height);
  const [end, start] = between(rows.end, rows.end + shown, rows.bounds);
  rows.setv({start, end});
  lanes.hidden = shown >= index.height;
  const box = element("plot").getBoundingClientRect();
  lanes.style.height = `${box.height}px`;
  lanes.firstElementChild.style.height = `${box.height * index.height / Math.max(shown, 1)}px`;
  scroll();
  soon();
}

function scroll() {
  const all = lanes.firstElementChild.offsetHeight;
  const wanted = rows.end / index.height * all;
  if (Math.abs(lanes.scrollTop - wanted) > 1) lanes.scrollTop = wanted;
}

function scrolled() {
  const first = lanes.scrollTop / lanes.firstElementChild.offsetHeight * index.height;
  if (Math.abs(first - rows.end) > 0.1) lift(first - rows.end);
}

// ---- colours

function model(name) { return Bokeh.documents[0].get_model_by_name(name); }

function renderer(kind) { return model(`kind-${kind}`); }

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function paint() {
  const [ground, ink, soft, grid] = ["--ground", "--plot-ink", "--plot-soft", "--plot-grid"].map(colour);
  figure.setv({background_fill_color: ground, border_fill_color: ground, outline_line_color: grid});
  for (const axis of [...figure.below, ...figure.left]) {
    axis.setv({axis_line_color: soft, major_tick_line_color: axis.dimension === 0 ? soft : null, minor_tick_line_color: null,
      major_label_text_color: ink, axis_label_text_color: ink, axis_label_text_font_style: "normal"});
  }
  for (const line of figure.center) line.setv({grid_line_color: grid});
  model("bands").glyph.setv({fill_color: colour("--panel")});
  index.kinds.forEach(([, name], kind) => {
    const shade = name.startsWith("#") ? name : colour(`--plot-${name}`);
    renderer(kind).glyph.setv({fill_color: shade});
    const swatch = element("legend").children[kind].querySelector("i");
    Object.assign(swatch.style, {background: shade, opacity: renderer(kind).glyph.fill_alpha.value});
  });
}

function legend() {
  index.kinds.forEach(([label], kind) => {
    const entry = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => { renderer(kind).visible = box.checked; });
    entry.append(box, document.createElement("i"), text("span", label));
    element("legend").append(entry);
  });
}

function trouble(error) {
  element("trouble").hidden = false;
  element("trouble").textContent = `This page cannot be shown in full: ${error}`;
  throw error;
}

async function main() {
  await Bokeh.embed.embed_item(index.figure);
  [figure, times, rows] = ["timeline", "times", "rows"].map(model);
  legend();
  paint();
  resize();
  figure.on_change([figure.properties.inner_height, figure.properties.inner_width], fit);
  times.on_change([times.properties.start, times.properties.end], soon);
  rows.on_change([rows.properties.start, rows.properties.end], () => { scroll(); soon(); });
  figure.on_event("mousemove", event => { point(event).catch(trouble); });
  figure.on_event("mouseleave", () => { pointed++; tip.hidden = true; });
  lanes.addEventListener("scroll", scrolled);
  addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  fit();
}

main().catch(trouble);
})();
