// URI templates, as far as needed to parse the plugin's own URIs: `{name}` matches text without
// `/`, `{+name}` any text. The host matches URIs against the template itself.

const literal = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

export class UriTemplate {
  constructor(template) {
    let pattern = "";
    let at = 0;
    this.variables = [];
    for (const found of template.matchAll(/\{([^{}]*)\}/g)) {
      const expression = /^(\+?)([A-Za-z_][A-Za-z0-9_]*)$/.exec(found[1]);
      if (!expression) throw new TypeError(`${found[0]} of ${template}: write {name} or {+name}`);
      pattern += literal(template.slice(at, found.index)) + (expression[1] ? "([^]+)" : "([^/?#]+)");
      this.variables.push(expression[2]);
      at = found.index + found[0].length;
    }
    this.pattern = new RegExp(`^${pattern}${literal(template.slice(at))}$`);
    this.literals = template.replace(/\{[^{}]*\}/g, "").length;
  }

  /** The decoded variables of a URI that matches the template. */
  match(uri) {
    const found = this.pattern.exec(uri);
    if (!found) return null;
    return Object.fromEntries(this.variables.map((name, at) => [name, decoded(found[at + 1])]));
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
