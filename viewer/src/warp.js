// Rows of the picture are moved by moving everything that has a place on the way from one row to the next.

// From the places of rows as drawn to those as shown.  `rows` are the numbers of the rows to be seen, in
// order; a row that is not seen lies where the next one is that is, or below the last.
export function warp(top, pitch, count, rows) {
  const places = new Float64Array(count + 2);
  let seen = 0;
  for (let number = 1; number <= count; number += 1) {
    places[number] = seen;
    if (rows[seen] === number) seen += 1;
  }
  places[count + 1] = seen;
  const last = Math.max(seen - 1, 0);
  // Steps are numbered from 1, places from 0.
  return (y) => {
    const place = (y - top) / pitch;
    if (place <= 0) return y;
    if (place >= count - 1) return top + pitch * (Math.min(places[count], last) + place - (count - 1));
    const whole = Math.floor(place);
    const from = Math.min(places[whole + 1], last);
    const to = Math.min(places[whole + 2], last);
    return top + pitch * (from + (to - from) * (place - whole));
  };
}

const TOKEN = /([A-Za-z])|(-?\d*\.?\d+(?:e-?\d+)?)/g;
const PAIRS = { M: 2, L: 2, T: 2, C: 2, S: 2, Q: 2 };

// A path of absolute commands with its y changed; commands that it does not know leave the rest as it is.
export function warpPath(d, move) {
  let command = "";
  let place = 0;
  let out = "";
  for (const match of d.matchAll(TOKEN)) {
    if (match[1]) {
      command = match[1];
      place = 0;
      out += command;
      continue;
    }
    const vertical = command === "V" || (command in PAIRS && place % 2 === 1);
    out += `${place ? " " : ""}${vertical ? round(move(Number(match[2]))) : match[2]}`;
    place += 1;
  }
  return out;
}

export function warpPoints(points, move) {
  return points
    .trim()
    .split(/[\s,]+/)
    .map((number, index) => (index % 2 ? round(move(Number(number))) : number))
    .join(" ");
}

export function round(number) {
  return Math.round(number * 10) / 10;
}
