// Panels as functions from the state to elements, and an update that touches only what has changed: focus, scroll position and
// selected text stay where they are.

// What JSX becomes: an element, or what a function of its attributes gives.
export function h(type, attributes, ...children) {
  if (typeof type === "function") return type({ ...attributes, children });
  const element = document.createElement(type);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element[name] = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

export function Fragment({ children }) {
  return children;
}

// Children in a row; null and false stand for nothing.
function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== false && child !== "");
}

// Makes the inside of an element what `content` is.
export function update(element, content) {
  const wanted = element.cloneNode(false);
  wanted.append(...nodes([content]));
  adapt(element, wanted);
}

function adapt(old, wanted) {
  let place = old.firstChild;
  for (const node of [...wanted.childNodes]) {
    if (place?.nodeName === node.nodeName) {
      become(place, node);
      place = place.nextSibling;
    } else old.insertBefore(node, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

const HANDLERS = ["onclick", "onchange"];

function become(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of wanted.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of HANDLERS) if (old[name] !== wanted[name]) old[name] = wanted[name];
  adapt(old, wanted);
  // What the reader chose in a list is no attribute.
  if (old.localName === "select") old.selectedIndex = wanted.selectedIndex;
}
