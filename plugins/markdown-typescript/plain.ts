// Markdown as plain text.

import { lexer, type Token, type Tokens } from "marked";

/** The text of a page; links show where they lead. */
export function text(markdown: string): string {
  return blocks(lexer(markdown)).join("\n\n");
}

/** Pieces of a line, without their marks. */
export function plain(tokens: Token[] = []): string {
  return tokens.map(piece).join("");
}

const inside = (token: Token): Token[] | undefined => ("tokens" in token ? token.tokens : undefined);

function piece(token: Token): string {
  switch (token.type) {
    case "br":
      return "\n";
    case "html":
      return "";
    case "image":
      return token.text;
    case "checkbox":
      return token.checked ? "[x] " : "[ ] ";
    default:
      return inside(token) ? plain(inside(token)) : unescaped("text" in token ? token.text : token.raw);
  }
}

function linked(tokens: Token[] = []): string {
  return tokens
    .map((token) => {
      if (token.type !== "link") return inside(token) ? linked(inside(token)) : piece(token);
      const shown = plain(token.tokens);
      return shown === token.href || token.href.startsWith("#") ? shown : `${shown} (${token.href})`;
    })
    .join("");
}

function blocks(tokens: Token[]): string[] {
  return tokens.flatMap((token) => block(token) ?? []);
}

function block(token: Token): string | null {
  switch (token.type) {
    case "space":
    case "def":
    case "html":
      return null;
    case "hr":
      return "---";
    case "code":
      return indented(token.text, "    ");
    case "blockquote":
      return indented(blocks(token.tokens ?? []).join("\n\n"), "> ");
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    default:
      return linked(inside(token) ?? [token]).trim();
  }
}

function list({ items, ordered, start }: Tokens.List): string {
  const lines = items.map((item, at) => {
    const mark = ordered ? `${Number(start || 1) + at}. ` : "- ";
    const inner = blocks(item.tokens.filter((token) => token.type !== "checkbox")).join("\n");
    const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
    return mark + indented(box + inner, " ".repeat(mark.length)).trimStart();
  });
  return lines.join("\n");
}

function table({ header, rows }: Tokens.Table): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => linked(cell.tokens)));
  const widths = header.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ").trimEnd());
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return lines.join("\n");
}

const indented = (text: string, by: string) => text.split("\n").map((line) => (by + line).trimEnd()).join("\n");

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => NAMED[name] ?? whole);
}
