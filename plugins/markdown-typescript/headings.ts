// The headings of a page, and the names that they are linked by.

import { lexer, type Token, type Tokens } from "marked";

import { plain } from "./plain.ts";

export interface Heading {
  level: number;
  title: string;
  slug: string;
}

/** Names as GitHub makes them: letters, digits, `-` and `_`; a second one gets a number. */
export class Slugs {
  #used = new Map<string, number>();

  of(title: string): string {
    const base = title.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");
    const count = this.#used.get(base);
    this.#used.set(base, (count ?? -1) + 1);
    return count === undefined ? base : this.of(`${base}-${count + 1}`);
  }
}

/** All headings, in order. Those inside of quotes and lists are none of the page's. */
export function headings(markdown: string): Heading[] {
  const slugs = new Slugs();
  const isHeading = (token: Token): token is Tokens.Heading => token.type === "heading";
  return lexer(markdown)
    .filter(isHeading)
    .map((token) => {
      const title = plain(token.tokens).trim();
      return { level: token.depth, title, slug: slugs.of(title) };
    });
}

/** The headings as a list of links, in Markdown. */
export function outline(found: Heading[]): string {
  const top = Math.min(...found.map((heading) => heading.level));
  const line = ({ level, title, slug }: Heading) =>
    `${"  ".repeat(level - top)}- [${title.replace(/[\\[\]]/g, "\\$&")}](#${slug})`;
  return found.map(line).join("\n");
}
