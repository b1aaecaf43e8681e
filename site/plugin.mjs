import { readFileSync } from "node:fs";
import { renderMermaidSVG } from "beautiful-mermaid";
import { Converter, PageEvent } from "typedoc";

/**
 * Turns the Markdown files into pages of the site. Each page gets the name of its first heading and the group under which docs/README.md
 * lists it. Mermaid diagrams become SVG images.
 *
 * @param {import("typedoc").Application} app
 */
export function load(app) {
  const groups = groupsOf(readFileSync("docs/README.md", "utf8"));
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const file = document.name;
    const [, heading] = /^# (.+)$/m.exec(document.content.map(({ text }) => text).join("")) ?? [];
    if (heading !== undefined) document.name = heading;
    document.frontmatter.group = file.startsWith("examples/") ? "Examples" : (groups.get(file) ?? "About");
  });
  app.renderer.on(PageEvent.END, (page) => {
    page.contents = page.contents
      ?.replaceAll(/<pre><code class="mermaid">(.*?)<\/code>.*?<\/pre>/gs, (_, source) =>
        diagram(unescapeHtml(source)),
      )
      .replaceAll(LINK_TO_SOURCE, "$1");
  });
}

/** A link to a file of the repository that has no page, which browsers would download. */
const LINK_TO_SOURCE = /<a href="[./]*media\/[^"]+\.(?:md|ts|mts|yml)"[^>]*>(.*?)<\/a>/g;

/** Maps each page that the index lists, without its extension, to the heading above it. */
function groupsOf(index) {
  const groups = new Map([["docs/README", "Start"]]);
  for (const part of index.split(/^## /m).slice(1)) {
    const [heading = ""] = part.split("\n", 1);
    for (const [, page] of part.matchAll(/\]\((?!\.\.)([\w/-]+)\.md\)/g)) groups.set(`docs/${page}`, heading);
  }
  return groups;
}

/** The colors are those of the site's theme, light or dark. */
function diagram(source) {
  const svg = renderMermaidSVG(source, {
    bg: "var(--color-background)",
    fg: "var(--color-text)",
    font: "inherit",
    transparent: true,
  });
  return `<div class="diagram">${svg}</div>`;
}

function unescapeHtml(html) {
  return html
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}
