// The replay beside the model: the table follows the cursor as far as the implementation got.

export class Beside {
  constructor(section, trace) {
    this.replayed = trace.data.replayed;
    this.section = section;
    if (!section || !this.replayed) return;
    this.trace = trace;
    this.rows = new Map([...section.querySelectorAll("tr[data-page]")].map((row) => [row.dataset.page, row]));
    this.caption = section.querySelector("caption");
    this.seen = new Map();
    this.replayed.pages.forEach((pages, state) => {
      for (const [name, value] of Object.entries(pages)) {
        if (!this.seen.has(name)) this.seen.set(name, []);
        this.seen.get(name).push([state, value]);
      }
    });
    this.last = this.replayed.pages.length - 1;
  }

  // Gives the pages that differ.
  go(state, at) {
    const differ = new Set();
    if (!this.rows) return differ;
    const there = Math.min(state, this.last);
    this.caption.textContent = this.#caption(state, there);
    for (const [name, row] of this.rows) {
      const [text, agrees] = at(this.seen.get(name), there);
      const [model, implementation, same] = row.querySelectorAll("td");
      model.textContent = this.trace.cell(name, there).words.split(": ").slice(1).join(": ");
      implementation.textContent = text;
      same.textContent = agrees ? "yes" : "NO";
      row.classList.toggle("differs", !agrees);
      if (!agrees && state === there) differ.add(name);
    }
    return differ;
  }

  #caption(state, there) {
    const when = there === 0 ? "Pages at the start" : `Pages after step ${there}`;
    return state > there ? `${when}: the implementation got no further` : when;
  }
}
