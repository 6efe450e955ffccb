"""What can be wrong with how a page looks, seen from inside of it."""

from __future__ import annotations

PAPER = {"width": 700, "height": 1000}
"""An A4 page less its margins, in CSS pixels."""

CUT = """() => [...document.querySelectorAll("body, body *")].filter(element => {
    if (!element.checkVisibility()) return false;
    const style = getComputedStyle(element);
    if (element instanceof SVGElement || element.matches("code, summary, .hidden")) return false;
    return style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1
        || style.overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1;
}).map(element => `${element.tagName}.${element.className}: ${element.scrollWidth} of ${element.clientWidth}`)"""
"""Elements of which a part can only be seen by scrolling inside of them."""

OVERLAPS = """() => [...document.querySelectorAll("svg.diagram, svg.map")].flatMap(svg => {
    const frame = svg.getBoundingClientRect(), found = [];
    const texts = [...svg.querySelectorAll("text")].filter(text => text.checkVisibility() && text.textContent.trim())
        .map(text => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([words, box], at) => {
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
            found.push(`"${words}" is cut`);
        for (const [other, there] of texts.slice(at + 1)) {
            const across = Math.min(box.right, there.right) - Math.max(box.left, there.left);
            const down = Math.min(box.bottom, there.bottom) - Math.max(box.top, there.top);
            if (across > 2 && down > box.height / 3) found.push(`"${words}" and "${other}"`);
        }
    });
    return found;
})"""
"""Texts of pictures that lie over one another, or outside."""
