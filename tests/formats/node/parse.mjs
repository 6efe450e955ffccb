// Diagrams on standard input as a JSON list of texts; what Mermaid's parser makes of them on standard output.

import { JSDOM } from "jsdom";
import { readFileSync, writeSync } from "node:fs";

const { window } = new JSDOM("");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ securityLevel: "strict", startOnLoad: false });

// The parser keeps `#35;` in a form of its own until it draws.
const plain = (text) => text.replaceAll("ﬂ°°", "&#").replaceAll("¶ß", ";");

const found = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const { db, type } = await mermaid.mermaidAPI.getDiagramFromText(text);
    found.push({
      type,
      actors: [...db.getActors()].map(([id, actor]) => [id, plain(actor.description)]),
      messages: db.getMessages().map(({ from, to, message, type }) => ({ from, to, message: plain(message ?? ""), type })),
    });
  } catch (problem) {
    found.push({ error: String(problem) });
  }
}
writeSync(1, JSON.stringify(found));
