// The table of steps: marks the row of the cursor, hides rows that do not fit.

export class Table {
  constructor(section) {
    this.rows = new Map();
    for (const row of section.querySelectorAll("tr[data-step]")) this.rows.set(Number(row.dataset.step), row);
    this.current = null;
  }

  go(state) {
    this.current?.classList.remove("current");
    this.current?.removeAttribute("aria-current");
    this.current = this.rows.get(state) ?? null;
    this.current?.classList.add("current");
    this.current?.setAttribute("aria-current", "step");
  }

  arrange(rows) {
    const seen = new Set(rows);
    for (const [number, row] of this.rows) row.hidden = number > 0 && !seen.has(number);
  }

  mark(found) {
    for (const [number, row] of this.rows) row.classList.toggle("found", found.has(number));
  }
}
