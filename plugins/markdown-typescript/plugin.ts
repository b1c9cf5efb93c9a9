// Markdown to HTML, to plain text, and its headings.

import { plugin, result, s } from "wharf-plugin";

import { headings, outline } from "./headings.ts";
import { html } from "./page.ts";
import { text } from "./plain.ts";

const markdown = s.string().describe("The page, in Markdown as GitHub has it.");

export default plugin()
  .tool(
    "html",
    {
      description: "Renders Markdown as HTML: the body of a page, without <html> around it.",
      readOnly: true,
      input: s.object({
        markdown,
        trusted: s
          .boolean()
          .default(false)
          .describe("Pass on HTML in the page, and links of every scheme; else HTML is shown as text."),
        anchors: s.boolean().default(true).describe("Give headings an id to link to."),
      }),
    },
    ({ markdown, ...options }) => html(markdown, options),
  )
  .tool(
    "text",
    {
      description: "Renders Markdown as plain text, for mails and terminals. Links show where they lead.",
      readOnly: true,
      input: s.object({ markdown }),
    },
    ({ markdown }) => text(markdown),
  )
  .tool(
    "contents",
    {
      description: "The headings of a Markdown page: a table of contents, as data and as a list of links.",
      readOnly: true,
      input: s.object({ markdown, depth: s.integer().min(1).max(6).default(6).describe("The lowest level to list.") }),
      output: s.object({
        headings: s.array(
          s.object({ level: s.integer(), title: s.string(), slug: s.string().describe("The id to link to.") }),
        ),
      }),
    },
    ({ markdown, depth }) => {
      const found = headings(markdown).filter(({ level }) => level <= depth);
      return result({ content: outline(found), structured: { headings: found } });
    },
  );
