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
    section.addEventListener("click", (event) => {
      const cell = event.target.closest("g.cell[data-page]");
      if (cell) pick(`${cell.dataset.pool}/${cell.dataset.page}`);
    });
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
