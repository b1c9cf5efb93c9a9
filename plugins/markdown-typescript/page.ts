// Markdown as HTML that does no harm: what is HTML in it is shown, not run, unless the caller
// wants it.

import { Marked, Renderer } from "marked";

import { Slugs } from "./headings.ts";
import { plain } from "./plain.ts";

export interface Options {
  /** HTML inside is passed on as it is, and so are links of every scheme. */
  trusted: boolean;
  /** Headings have an `id`. */
  anchors: boolean;
}

const SCHEME = /^\s*([a-z][a-z0-9+.-]*):/i;
const HARMLESS = ["http", "https", "mailto", "tel", "ftp"];

/** Whether a link may be followed: it has no scheme, or a harmless one. */
export function harmless(href: string): boolean {
  // Browsers skip these characters before they look for a scheme.
  const scheme = SCHEME.exec(href.replace(/[\u0000-\u0020\u007f-\u00a0]/g, ""))?.[1];
  return scheme === undefined || HARMLESS.includes(scheme.toLowerCase());
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** The page as HTML. */
export function html(markdown: string, { trusted, anchors }: Options): string {
  const slugs = new Slugs();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const id = anchors ? ` id="${escaped(slugs.of(plain(tokens)))}"` : "";
        return `<h${depth}${id}>${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      html({ text }) {
        return trusted ? text : escaped(text);
      },
      link(token) {
        return trusted || harmless(token.href)
          ? Renderer.prototype.link.call(this, token)
          : this.parser.parseInline(token.tokens);
      },
      image(token) {
        return trusted || harmless(token.href) ? Renderer.prototype.image.call(this, token) : escaped(token.text);
      },
    },
  });
  return marked.parse(markdown, { async: false });
}
