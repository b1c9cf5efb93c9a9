// Names that do not exist, with what was probably meant.

/** The similar one of the known names; `undefined` if there is none. */
export function nearest(name, names) {
  const limit = Math.max(2, name.length / 3);
  const [cost, meant] = names.map((one) => [costOf(name, one), one]).sort(([a], [b]) => a - b)[0] ?? [Infinity];
  return cost <= limit ? meant : undefined;
}

/** What is said after a name that does not exist: `; did you mean 'tool'? there are: tool, prompt`. */
export function instead(name, names) {
  const meant = nearest(name, names);
  return `${meant ? `; did you mean '${meant}'?` : ";"} ${names.length ? `there are: ${names.join(", ")}` : "there is none"}`;
}

/** Makes a misspelt member of a class an error. Only names that an instance does not have arrive at the end of the
    prototype chain. Those that are not similar to a member are `undefined` as always: engines and test libraries look for some
    in every object. */
export function refuseMisspelt(type, what, names = Object.getOwnPropertyNames(type.prototype)) {
  const end = new Proxy(Object.prototype, {
    get(target, name, receiver) {
      const meant = typeof name === "string" && !(name in target) ? nearest(name, names) : undefined;
      if (meant) throw new TypeError(`${what} has no '${name}'; did you mean '${meant}'?`);
      return Reflect.get(target, name, receiver);
    },
  });
  Object.setPrototypeOf(type.prototype, end);
}

/** How far a name is from another: `int` and `inputSchema` are near `integer` and `input`. Those that begin differently may
    differ in one letter. */
function costOf(name, other) {
  const [short, long] = [name, other].sort((a, b) => a.length - b.length);
  if (short.length > 2 && long.startsWith(short)) return 1;
  const cost = distance(name, other);
  return cost > 1 && name[0] !== other[0] ? Infinity : cost;
}

/** How many letters differ (Levenshtein). */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}
