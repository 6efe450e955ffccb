// The page: one trace or several, of which one is shown at a time.

import { adopt } from "./adopt.js";
import { Address, format, parse } from "./address.js";
import { openHelp } from "./help.jsx";
import { press } from "./keys.js";
import { View } from "./view.js";

class Page {
  constructor() {
    this.articles = [...document.querySelectorAll("article.trace")];
    this.views = new Map();
    this.settings = { full: false, cone: false, folded: false };
    this.order = this.#order();
    this.address = new Address((hash) => this.#write(hash));
    document.body.classList.add("live");
    for (const hidden of document.querySelectorAll("footer .keys")) hidden.hidden = false;
    this.#copies();
    this.#shorten();
    document.addEventListener("keydown", (event) => this.#press(event));
    document.addEventListener("click", (event) => this.#click(event));
    // What was asked for is in the event: by now a write that was put off may have changed the address again.
    addEventListener("hashchange", ({ newURL }) => this.follow(new URL(newURL).hash));
    this.follow(location.hash, { start: true });
    this.ready = true;
    // The browser goes to the row of the table that the address names; the picture is what is wanted.
    if (parse(location.hash)?.state != null) addEventListener("load", () => this.view.scroll());
  }

  // The traces in the order of the list, which is by clusters.
  #order() {
    const listed = [...document.querySelectorAll("#traces a[data-trace]")].map((link) =>
      Number(link.dataset.trace),
    );
    return listed.length ? listed : this.articles.map((article) => Number(article.dataset.trace));
  }

  #write(hash) {
    // An address that nobody has asked for yet would make the browser go to the row of the table.
    if (!this.ready) return;
    try {
      history.replaceState(null, "", hash);
    } catch {
      // A page inside another one has no address of its own.
    }
  }

  #press(event) {
    if (document.querySelector("dialog.help[open]")) return;
    press(event, this.view, this);
  }

  #click(event) {
    const help = event.target.closest(".help-toggle");
    const link = event.target.closest("#traces a[data-trace]");
    if (help) this.help();
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.show(Number(link.dataset.trace), null);
    scrollTo({ top: 0, behavior: "instant" });
  }

  // What would have been is opened when it is wanted, so that the picture is in the first view; on paper it is there.
  #shorten() {
    const parts = document.querySelectorAll("details.whatif");
    const put = (open) => parts.forEach((part) => (part.open = open));
    put(false);
    addEventListener("beforeprint", () => put(true));
  }

  // A button beside each command.
  #copies() {
    for (const code of document.querySelectorAll("[data-copy]")) {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "copy", textContent: "copy" });
      button.setAttribute("aria-label", `copy ${code.textContent}`);
      button.addEventListener("click", () => this.#copy(code, button));
      code.after(" ", button);
    }
  }

  async #copy(code, button) {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    } catch {
      // Not allowed here: then it is selected, to be copied by hand.
      getSelection().selectAllChildren(code);
    }
  }

  follow(hash, { start = false } = {}) {
    const place = parse(hash);
    const known = place && this.order.includes(place.trace);
    if (!known && !start) return;
    this.show(known ? place.trace : this.order[0], known ? place.state : null, {
      scroll: Boolean(known && place.state !== null),
    });
  }

  // Shows a trace at a state; without one at its last.
  show(number, state, { scroll = false } = {}) {
    for (const article of this.articles) article.hidden = Number(article.dataset.trace) !== number;
    for (const link of document.querySelectorAll("#traces a[data-trace]")) {
      if (Number(link.dataset.trace) === number) current(link);
      else link.removeAttribute("aria-current");
    }
    this.view = this.#view(number);
    this.view.enter();
    this.view.go(state ?? this.view.trace.end, { scroll });
  }

  #view(number) {
    if (!this.views.has(number)) {
      const article = this.articles.find((candidate) => Number(candidate.dataset.trace) === number);
      const data = adopt(article, JSON.parse(document.getElementById(`report-${number}`).textContent));
      const moved = (view) => this.address.set(format(view.number, view.state));
      this.views.set(number, new View(article, data, { moved, settings: this.settings }));
    }
    return this.views.get(number);
  }

  turn(direction) {
    const place = this.order.indexOf(this.view.number) + direction;
    if (place < 0 || place >= this.order.length) return;
    this.show(this.order[place], null);
    scrollTo({ top: 0, behavior: "instant" });
  }

  help() {
    openHelp(this.articles.length > 1);
  }
}

// Marks the trace that is shown in the list, and brings it into view there without moving the page.
function current(link) {
  link.setAttribute("aria-current", "page");
  const list = document.querySelector("#traces > ul");
  const [box, frame] = [link.getBoundingClientRect(), list.getBoundingClientRect()];
  if (box.top < frame.top || box.bottom > frame.bottom) list.scrollTop += box.top - frame.top - frame.height / 2;
}

new Page();
