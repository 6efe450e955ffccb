// The page maps: cells are painted with copies of drawings that Python made, so that there is one painter only.

export class Maps {
  constructor(section, trace, { pick }) {
    this.cells = [];
    if (!section) return;
    this.section = section;
    this.trace = trace;
    this.looks = section.querySelector("template").content.querySelectorAll("g.cell");
    this.when = section.querySelectorAll(".when");
    for (const element of section.querySelectorAll("g.cell[data-page]")) {
      const { pool, page } = element.dataset;
      const misread = new Set((element.dataset.misread ?? "").split(" ").map(Number));
      this.cells.push({ element, name: `${pool}/${page}`, misread, shown: null });
    }
    this.#wrap();
    section.addEventListener("click", (event) => {
      const cell = event.target.closest("g.cell[data-page]");
      if (cell) pick(`${cell.dataset.pool}/${cell.dataset.page}`);
    });
  }

  // On a narrow screen the cells of a pool stand in more rows than they were drawn in.  What is watched is the section,
  // whose width does not depend on the cells'.
  #wrap() {
    let before = 0;
    const watch = new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === before) return;
      before = contentRect.width;
      const pictures = [...this.section.querySelectorAll(".pool svg")];
      for (const svg of pictures) wrap(svg, Infinity);
      const { right } = this.section.getBoundingClientRect();
      for (const svg of pictures) wrap(svg, right - svg.getBoundingClientRect().left);
    });
    watch.observe(this.section);
  }

  // Touches the cells that differ from what is shown, and no others.
  go(state) {
    for (const cell of this.cells) {
      const now = this.trace.cell(cell.name, state);
      if (now !== cell.shown) paint(cell, now, this.looks[now.look]);
      cell.element.classList.toggle("misread", cell.misread.has(state));
      cell.element.classList.toggle("fresh", state > 0 && now.since === state);
      cell.shown = now;
    }
    const words = state ? `, after step ${state}` : ", at the start";
    for (const place of this.when ?? []) place.textContent = words;
  }

  // Pages that an implementation has otherwise than the model.
  differ(names) {
    for (const cell of this.cells) cell.element.classList.toggle("unlike", names.has(cell.name));
  }

  pick(name) {
    for (const cell of this.cells) cell.element.toggleAttribute("data-picked", cell.name === name);
  }
}

function paint(cell, now, look) {
  const { element } = cell;
  const label = element.querySelector(".page").textContent;
  const copy = look.cloneNode(true);
  copy.querySelector(".page").textContent = label;
  const title = element.querySelector("title");
  title.textContent = now.words;
  // The cross of a wrong read lies on top, and shows or not by a class.
  const cross = element.querySelector(".wrong");
  element.replaceChildren(title, ...copy.childNodes, ...(cross ? [cross] : []));
  element.setAttribute("class", look.getAttribute("class"));
  element.setAttribute("aria-label", now.words);
}

// The cells in as many columns as there is room for, and no more than they were drawn in.
function wrap(svg, room) {
  const cells = [...svg.querySelectorAll("g.cell")];
  const places = (svg.places ??= cells.map((cell) =>
    cell
      .getAttribute("transform")
      .match(/[\d.]+/g)
      .map(Number),
  ));
  const size = (svg.size ??= svg.getAttribute("viewBox").split(" ").slice(2).map(Number));
  const [left, top] = places[0];
  const across = places.findIndex(([x], index) => index > 0 && x === left);
  const columns = across < 0 ? cells.length : across;
  const [wide, high] = [size[0] / columns, size[1] / Math.ceil(cells.length / columns)];
  const now = Math.min(columns, Math.max(1, Math.floor(room / wide)));
  if (svg.columns === now) return;
  svg.columns = now;
  cells.forEach((cell, index) => {
    cell.setAttribute(
      "transform",
      `translate(${left + (index % now) * wide},${top + Math.floor(index / now) * high})`,
    );
  });
  const [w, h] = [now * wide, Math.ceil(cells.length / now) * high];
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  svg.setAttribute("width", w);
  svg.setAttribute("height", h);
}
