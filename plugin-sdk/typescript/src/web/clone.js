// `structuredClone`.

const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

export function structuredClone(value) {
  return clone(value, new Map());
}

function clone(value, seen) {
  if (typeof value === "function" || typeof value === "symbol") throw refused(String(value));
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const kept = (made) => {
    seen.set(value, made);
    return made;
  };
  const members = (made, keys) => {
    for (const key of keys) {
      // Not by assignment, which would make `__proto__` the prototype.
      const descriptor = { value: clone(value[key], seen), writable: true, enumerable: true, configurable: true };
      Object.defineProperty(made, key, descriptor);
    }
    return made;
  };
  switch (Object.prototype.toString.call(value).slice(8, -1)) {
    case "Boolean":
    case "Number":
    case "String":
    case "BigInt":
      return kept(Object(value.valueOf()));
    case "Date":
      return kept(new Date(value.getTime()));
    case "RegExp":
      return kept(new RegExp(value.source, value.flags));
    case "ArrayBuffer":
      return kept(value.slice(0));
    case "DataView":
      return kept(new DataView(clone(value.buffer, seen), value.byteOffset, value.byteLength));
    case "Map": {
      const made = kept(new Map());
      for (const [key, one] of [...value]) made.set(clone(key, seen), clone(one, seen));
      return made;
    }
    case "Set": {
      const made = kept(new Set());
      for (const one of [...value]) made.add(clone(one, seen));
      return made;
    }
    case "Error": {
      const made = kept(new (ERRORS[value.name] ?? Error)(value.message));
      return Object.defineProperty(made, "stack", { value: value.stack, writable: true, configurable: true });
    }
    case "Array":
      return members(kept(new Array(value.length)), Object.keys(value));
    case "Promise":
    case "WeakMap":
    case "WeakSet":
    case "WeakRef":
      throw refused(`#<${value.constructor.name}>`);
    default:
      if (ArrayBuffer.isView(value)) {
        return kept(new value.constructor(clone(value.buffer, seen), value.byteOffset, value.length));
      }
      return members(kept({}), Object.keys(value));
  }
}

const refused = (what) => new DOMException(`${what} could not be cloned`, "DataCloneError");
