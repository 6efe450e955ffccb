// The space-time diagram: adopts the drawing, marks rows and lines, and moves rows when some are hidden.

import { round, warp, warpPath, warpPoints } from "./warp.js";

const SVG = "http://www.w3.org/2000/svg";
const HEAD = 46;
const LINES = ".message, .flight, .cause";

export class Diagram {
  constructor(section, trace, { go }) {
    this.svg = section.querySelector(".wide > svg");
    this.trace = trace;
    this.rows = new Map();
    this.current = null;
    if (!this.svg) return;
    this.top = Number(this.svg.dataset.top);
    this.pitch = Number(this.svg.dataset.pitch);
    this.cursor = this.svg.querySelector(".cursor");
    for (const row of this.svg.querySelectorAll(".row[data-step]")) this.rows.set(Number(row.dataset.step), row);
    this.parts = [...this.svg.querySelectorAll("[data-step]")];
    this.lines = [...this.svg.querySelectorAll(LINES)];
    this.#index();
    this.#adopt(go);
    this.#heads();
  }

  // What each step rests on: the edges that end at it.
  #index() {
    this.near = [];
    this.causes = new Map();
    for (const cause of this.lines.filter((line) => line.classList.contains("cause"))) {
      const to = Number(cause.dataset.to);
      if (!this.causes.has(to)) this.causes.set(to, []);
      this.causes.get(to).push(cause);
    }
  }

  // The names of the lanes once more, in a strip that stays in view.
  #heads() {
    const strip = document.createElementNS(SVG, "svg");
    const [, , width] = this.svg.getAttribute("viewBox").split(" ");
    strip.setAttribute("class", "kv heads");
    strip.setAttribute("aria-hidden", "true");
    strip.setAttribute("viewBox", `0 0 ${width} ${HEAD}`);
    strip.setAttribute("width", width);
    for (const lane of this.svg.querySelectorAll(".lane")) {
      const copy = lane.cloneNode(true);
      copy.querySelector(".life")?.remove();
      strip.append(copy);
    }
    this.svg.before(strip);
  }

  #adopt(go) {
    this.svg.addEventListener("click", (event) => {
      const row = event.target.closest("[data-step]");
      const line = event.target.closest(LINES);
      if (row) go(Number(row.dataset.step));
      else if (line) go(Number(line.dataset.to || line.dataset.from));
    });
    const mark = (event, on) => {
      const line = event.target.closest?.(LINES);
      if (line) this.#markLine(line, on);
    };
    this.svg.addEventListener("pointerover", (event) => mark(event, true));
    this.svg.addEventListener("pointerout", (event) => mark(event, false));
  }

  #markLine(line, on) {
    line.classList.toggle("hot", on);
    for (const end of [line.dataset.from, line.dataset.to]) this.rows.get(Number(end))?.classList.toggle("end", on);
  }

  // A step that a link leads to, and both ends of every line that begins or ends there.
  markStep(number, on) {
    this.rows.get(number)?.classList.toggle("end", on);
    if (!this.svg) return;
    for (const line of this.lines) {
      if (Number(line.dataset.from) === number || Number(line.dataset.to) === number) this.#markLine(line, on);
    }
  }

  go(state) {
    if (!this.svg) return;
    this.current?.classList.remove("current");
    this.current = this.rows.get(state) ?? null;
    this.current?.classList.add("current");
    for (const cause of this.near) cause.classList.remove("near");
    this.near = this.causes.get(state) ?? [];
    for (const cause of this.near) cause.classList.add("near");
    this.#placeCursor(state);
  }

  #placeCursor(state) {
    if (!this.cursor) return;
    this.state = state;
    const y = this.move ? this.move(this.top + (state - 1) * this.pitch) : this.top + (state - 1) * this.pitch;
    this.cursor.setAttribute("transform", `translate(0,${round(y)})`);
  }

  // The row of a state, where the page should scroll to.
  place(state) {
    return this.rows.get(state) ?? this.svg?.querySelector(".lane") ?? null;
  }

  // Brings the machine of a row into view where the picture is wider than the window.
  sideways(row) {
    const frame = this.svg?.parentElement;
    if (!frame || frame.scrollWidth <= frame.clientWidth) return;
    const dot = row.querySelector(".dot") ?? row;
    frame.scrollLeft +=
      dot.getBoundingClientRect().left - frame.getBoundingClientRect().left - frame.clientWidth / 3;
  }

  mark(found) {
    for (const [number, row] of this.rows) row.classList.toggle("found", found.has(number));
  }

  // Shows these rows only, without gaps.  `stands` says how many folded steps a row stands for.
  arrange(rows, stands) {
    if (!this.svg || !this.pitch) return;
    const seen = new Set(rows);
    this.move = warp(this.top, this.pitch, this.trace.end, rows);
    for (const part of this.parts) part.classList.toggle("gone", !seen.has(Number(part.dataset.step)));
    for (const [number, row] of this.rows) this.#tell(row, stands.get(number) ?? 0);
    for (const line of this.lines) line.classList.toggle("gone", !isSeen(line, seen, this.trace.end));
    this.geometry ??= [...this.#geometry()];
    for (const put of this.geometry) put(this.move);
    this.#resize();
    if (this.state !== undefined) this.#placeCursor(this.state);
  }

  #tell(row, others) {
    let label = row.querySelector(".folded");
    if (!others) {
      label?.remove();
      return;
    }
    if (!label) {
      label = document.createElementNS(SVG, "text");
      label.setAttribute("class", "folded");
      const call = row.querySelector(".call");
      const box = call?.getBBox();
      label.setAttribute("x", box ? box.x + box.width + 8 : 0);
      label.setAttribute("y", call?.getAttribute("y") ?? 4);
      row.append(label);
    }
    label.textContent = `+${others}`;
  }

  #resize() {
    const [, , width, height] = (this.box ??= this.svg.getAttribute("viewBox").split(" ").map(Number));
    const now = round(this.move(height));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${now}`);
    this.svg.setAttribute("height", now);
  }

  // What moves with the rows, each as a function that takes where places of the drawing are now.
  *#geometry() {
    for (const element of this.svg.querySelectorAll("*")) {
      if (element.closest("defs, .lane .head, .cursor, title, desc")) continue;
      const outer = element.parentElement.closest("[transform]");
      if (outer && this.svg.contains(outer)) continue;
      yield* movers(element);
    }
  }
}

function* movers(element) {
  const transform = /^translate\(\s*(-?[\d.]+)[\s,]+(-?[\d.]+)\s*\)(.*)$/.exec(
    element.getAttribute("transform") ?? "",
  );
  if (transform) {
    const [, x, y, rest] = transform;
    yield (move) => element.setAttribute("transform", `translate(${x},${round(move(Number(y)))})${rest}`);
    return;
  }
  for (const name of ["y1", "y2", "cy"]) {
    const y = number(element, name);
    if (y !== null) yield (move) => element.setAttribute(name, round(move(y)));
  }
  const y = number(element, "y");
  const height = number(element, "height");
  if (y !== null) yield (move) => element.setAttribute("y", round(move(y)));
  if (y !== null && height !== null) {
    yield (move) => element.setAttribute("height", Math.max(round(move(y + height) - move(y)), 0));
  }
  const d = element.getAttribute("d");
  if (d) yield (move) => element.setAttribute("d", warpPath(d, move));
  const points = element.getAttribute("points");
  if (points) yield (move) => element.setAttribute("points", warpPoints(points, move));
}

function number(element, name) {
  const text = element.getAttribute(name);
  return text === null ? null : Number(text);
}

// Whether a line is to be seen: a message with both its ends, a write as long as it passes a row on its way.
function isSeen(line, seen, end) {
  const from = Number(line.dataset.from || 0);
  const to = Number(line.dataset.to || end);
  if (!line.classList.contains("flight")) return (seen.has(from) || !from) && (seen.has(to) || !line.dataset.to);
  for (let number = from; number <= to; number += 1) if (seen.has(number)) return true;
  return false;
}
