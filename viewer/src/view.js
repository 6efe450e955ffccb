// One trace on the page: a cursor, and everything that follows it.

import { Beside } from "./beside.js";
import { Diagram } from "./diagram.js";
import { matcher } from "./filter.js";
import { localRuns, visible } from "./folding.js";
import { Maps } from "./maps.js";
import { Live } from "./panels.jsx";
import { update } from "./render.js";
import { highlight, nextHit, search } from "./search.js";
import { Table } from "./table.js";
import { at, Trace } from "./trace.js";

export class View {
  constructor(article, data, { moved, settings }) {
    this.article = article;
    this.number = Number(article.dataset.trace);
    this.trace = new Trace(data);
    this.groups = this.trace.groups();
    this.moved = moved;
    this.state = this.trace.end;
    // What the reader has chosen for all traces: `full`, `cone`, `folded`.
    this.settings = settings;
    this.picked = null;
    this.closed = new Set();
    this.filter = "";
    this.hiddenLanes = new Set();
    this.found = new Set();
    this.#adopt();
  }

  // Comes into view: the reader may have chosen otherwise in the meantime.
  enter() {
    this.#showCone();
    this.#showFold();
    this.#measure();
  }

  #adopt() {
    const part = (name) => this.article.querySelector(name);
    const go = (state) => this.go(state, { scroll: false });
    this.diagram = new Diagram(part(".diagram"), this.trace, { go });
    this.maps = new Maps(part(".maps"), this.trace, { pick: (name) => this.pick(name) });
    this.table = new Table(part(".steps"));
    this.beside = new Beside(part(".replayed"), this.trace);
    this.live = part(".live");
    this.bar = part(".bar");
    this.top = part(".top");
    this.row = part(".cursor-row");
    this.words = part(".cursor-words");
    this.note = part(".where .note");
    this.searchBox = part("input.search");
    this.filterBox = part("input.filter");
    this.hits = part(".hits");
    this.live.hidden = false;
    this.bar.hidden = false;
    this.#wire();
    this.#laneButtons();
    new ResizeObserver(() => this.article.hidden || this.#measure()).observe(this.top);
  }

  #wire() {
    const on = (name, call) => this.bar.querySelector(name).addEventListener("click", call);
    on(".first", () => this.go(0));
    on(".back", () => this.step(-1));
    on(".forth", () => this.step(1));
    on(".last", () => this.go(this.trace.end));
    this.bar.querySelector(".cone-toggle").hidden = !this.article.querySelector(".diagram .cause");
    this.bar.querySelector(".fold").hidden = !localRuns(this.trace.steps).length;
    on(".cone-toggle", () => this.toggleCone());
    on(".fold", () => this.toggleFold());
    this.searchBox.addEventListener("input", () => this.search(this.searchBox.value));
    this.searchBox.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.goHit(event.shiftKey ? -1 : 1);
    });
    this.filterBox.addEventListener("input", () => {
      this.filter = this.filterBox.value;
      this.arrange();
    });
    this.article.addEventListener("click", (event) => this.#follow(event));
    this.article.addEventListener("pointerover", (event) => this.#hover(event, true));
    this.article.addEventListener("pointerout", (event) => this.#hover(event, false));
  }

  // A link to a step moves the cursor and leaves the reader where they are.
  #follow(event) {
    const link = event.target.closest("a[data-step], .steps tr[data-step]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const row = link.localName === "tr";
    if (row && (event.target.closest("a, summary, details, pre") || String(getSelection()))) return;
    event.preventDefault();
    this.go(Number(link.dataset.step), { scroll: !row && !event.target.closest(".steps, .live") });
  }

  #hover(event, on) {
    const link = event.target.closest?.("a[data-step]");
    if (link) this.diagram.markStep(Number(link.dataset.step), on);
  }

  #laneButtons() {
    const machines = this.bar.querySelector(".machines");
    const place = machines.querySelector(".lanes");
    const used = new Set(this.trace.steps.map((step) => step.lane));
    for (const lane of this.trace.data.lanes.filter((name) => used.has(name))) {
      const button = document.createElement("button");
      Object.assign(button, {
        type: "button",
        className: "lane-toggle",
        textContent: lane,
        title: `show the steps of ${lane}`,
      });
      button.dataset.lane = lane;
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => this.toggleLane(lane, button));
      place.append(button);
    }
    machines.hidden = used.size < 2;
  }

  go(state, { scroll = true } = {}) {
    this.state = Math.min(Math.max(state, 0), this.trace.end);
    this.diagram.go(this.state);
    this.maps.go(this.state);
    this.table.go(this.state);
    this.maps.differ(this.beside.go(this.state, at));
    this.#say();
    this.renderLive();
    if (scroll) this.scroll();
    this.moved(this);
  }

  #say() {
    const { state, trace } = this;
    const step = state ? trace.step(state) : null;
    const start = trace.end ? `start: before step 1 of ${trace.end}` : "start: there are no steps";
    const words = step ? `step ${state} of ${trace.end}: ${step.lane} ${step.full}` : start;
    if (this.words.textContent !== words) this.words.textContent = words;
    this.note.textContent = step ? step.notes.map(([, text]) => text).join("; ") : "";
  }

  // The next row to be seen in a direction; the start is always there.
  step(direction) {
    const rows = [0, ...this.rows];
    const next = direction > 0 ? rows.find((row) => row > this.state) : rows.findLast((row) => row < this.state);
    if (next !== undefined) this.go(next);
  }

  guilty(direction) {
    const next = this.trace.guilty(this.state, direction);
    if (next !== null) this.go(next);
  }

  renderLive() {
    update(this.live, Live({ view: this }));
    if (this.searchBox.value) this.#highlight();
  }

  toggleFull() {
    this.settings.full = !this.settings.full;
    this.renderLive();
  }

  toggleGroup(name) {
    if (!this.closed.delete(name)) this.closed.add(name);
    this.renderLive();
  }

  toggleCone() {
    this.settings.cone = !this.settings.cone;
    this.#showCone();
  }

  #showCone() {
    const { cone } = this.settings;
    this.article.classList.toggle("cone-on", cone);
    this.bar.querySelector(".cone-toggle").setAttribute("aria-pressed", String(cone));
  }

  toggleFold() {
    this.settings.folded = !this.settings.folded;
    this.#showFold();
  }

  #showFold() {
    this.bar.querySelector(".fold").setAttribute("aria-pressed", String(this.settings.folded));
    this.arrange();
  }

  toggleLane(lane, button) {
    const shown = this.hiddenLanes.delete(lane);
    if (!shown) this.hiddenLanes.add(lane);
    button.setAttribute("aria-pressed", String(shown));
    this.arrange();
  }

  pick(name) {
    this.picked = name;
    this.maps.pick(name);
    this.renderLive();
    this.live.querySelector(".history")?.scrollIntoView({ block: "nearest" });
  }

  excerpt(action) {
    return (
      [...this.article.querySelectorAll(".sources .excerpt")].find(
        (excerpt) => excerpt.dataset.action === action,
      ) ?? null
    );
  }

  // Which rows are to be seen follows from the filter, the lanes and the folding.
  arrange() {
    const fits = matcher(this.filter, this.trace.steps);
    const { folded } = this.settings;
    const { rows, stands } = visible(this.trace.steps, { fits, hiddenLanes: this.hiddenLanes, folded });
    const before = this.rows?.length ?? this.trace.end;
    this.rows = rows;
    if (before !== rows.length || rows.length !== this.trace.end) {
      this.diagram.arrange(rows, stands);
      this.table.arrange(rows);
    }
    this.article.classList.toggle("filtered", rows.length < this.trace.end);
    this.#count();
  }

  search(text) {
    this.found = search(this.trace.steps, text);
    this.diagram.mark(this.found);
    this.table.mark(this.found);
    this.#highlight();
    this.#count();
  }

  #highlight() {
    const parts = [".why", ".diagram", ".live", ".steps"].map((name) => this.article.querySelector(name));
    highlight(parts, this.searchBox.value);
  }

  #count() {
    const parts = [];
    if (this.searchBox.value.trim()) parts.push(this.found.size === 1 ? "1 hit" : `${this.found.size} hits`);
    if (this.rows.length < this.trace.end) parts.push(`${this.rows.length} of ${this.trace.end} steps shown`);
    this.hits.textContent = parts.join(", ");
  }

  goHit(direction) {
    const hit = nextHit(this.found, this.state, direction);
    if (hit !== null) this.go(hit);
  }

  // Back to the plain picture, one thing after the other.
  escape() {
    const box = document.activeElement;
    const machines = this.bar.querySelector(".machines");
    if (machines.open) {
      machines.open = false;
      return;
    }
    if (box === this.searchBox || box === this.filterBox) {
      box.blur();
      return;
    }
    if (this.searchBox.value) {
      this.searchBox.value = "";
      this.search("");
    } else if (this.filterBox.value) {
      this.filterBox.value = this.filter = "";
      this.arrange();
    } else if (this.picked !== null) this.pick(null);
  }

  // How much of the window the panels that stay take away.
  #stuck() {
    const stuck = [this.top, this.row].find((part) => getComputedStyle(part).position === "sticky");
    return stuck?.offsetHeight ?? 0;
  }

  #measure() {
    document.documentElement.style.setProperty("--stuck", `${this.#stuck()}px`);
  }

  scroll() {
    const row = this.diagram.place(this.state) ?? this.table.current;
    if (!row) return;
    this.diagram.sideways(row);
    const box = row.getBoundingClientRect();
    const top = this.#stuck() + 8;
    const bottom = innerHeight - 16;
    if (box.top < top) scrollBy({ top: box.top - top - (bottom - top) / 3, behavior: "instant" });
    else if (box.bottom > bottom) scrollBy({ top: box.bottom - bottom + (bottom - top) / 3, behavior: "instant" });
  }
}
