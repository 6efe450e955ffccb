// Panels as functions from the state to what is to be seen, and an update that touches only what has changed:
// focus, scroll position and selected text stay where they are.

// What JSX becomes: a plan of an element, or what a function of its attributes gives.
export function h(type, attributes, ...children) {
  if (typeof type === "function") return type({ ...attributes, children });
  return { type, attributes: attributes ?? {}, children: flat(children) };
}

export function Fragment({ children }) {
  return children;
}

// Children in a row; null and false stand for nothing.
function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== false && child !== "");
}

// Makes the inside of an element what `content` says.
export function update(element, content) {
  adapt(element, flat([content]));
}

// A child is a plan, a text, or a node of its own.
function adapt(element, children) {
  let place = element.firstChild;
  for (const child of children) {
    if (place && become(place, child)) place = place.nextSibling;
    else element.insertBefore(made(child), place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function made(child) {
  if (child instanceof Node) return child;
  if (child.type === undefined) return document.createTextNode(child);
  const element = document.createElement(child.type);
  become(element, child);
  return element;
}

// Makes a node what the child says, if it is of its kind.
function become(node, child) {
  if (child instanceof Node) return node.isEqualNode(child);
  if (child.type === undefined) {
    if (node.nodeType !== Node.TEXT_NODE) return false;
    if (node.data !== String(child)) node.data = child;
    return true;
  }
  if (node.localName !== child.type) return false;
  const before = node.plan?.attributes ?? {};
  node.plan = child;
  for (const name of Object.keys(before)) if (!(name in child.attributes)) put(node, name, null);
  for (const [name, value] of Object.entries(child.attributes)) if (before[name] !== value) put(node, name, value);
  adapt(node, child.children);
  return true;
}

function put(element, name, value) {
  // What the reader chose in a list is a property and no attribute.
  if (name.startsWith("on") || name === "selected") element[name] = value;
  else if (value === null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : value);
}
