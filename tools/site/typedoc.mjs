/**
 * A typedoc plugin: names pages after their headings, groups them by folder, names modules as programs import
 * them, and makes links to the README lead to its file.
 */
import { readFileSync } from "node:fs";
import { Converter, PageEvent, ReflectionKind, Renderer } from "typedoc";

/** The sidebar's groups of pages. A page belongs to the first group whose key its path contains. */
const GROUPS = Object.entries({
  "docs/guide/": "Guide",
  "docs/operate/": "Operate",
  "docs/reference/": "Reference",
  "examples/": "Examples",
  "": "Project",
});

/** @param {import("typedoc").Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, setGroup);
  // Runs before the search index is built.
  app.renderer.on(Renderer.EVENT_BEGIN, setNames, 1000);
  app.renderer.on(PageEvent.END, nameFirstPage);
}

/**
 * @param {unknown} _context
 * @param {import("typedoc").DocumentReflection} page
 */
function setGroup(_context, page) {
  const path = page.project.files.getReflectionPath(page) ?? "";
  const [, group] = GROUPS.find(([folder]) => path.includes(`/${folder}`)) ?? [];
  page.frontmatter.group = group;
}

/** @param {import("typedoc").RendererEvent} event */
function setNames({ project }) {
  for (const page of project.getReflectionsByKind(ReflectionKind.Document)) {
    const file = project.files.getReflectionPath(page);
    const [, title] = /^# (.+)$/m.exec(file === undefined ? "" : readFileSync(file, "utf8")) ?? [];
    if (title !== undefined) page.name = title.replaceAll("`", "");
  }
  // Removes the first page's heading, because the theme prints the project's name as a heading.
  const [first] = project.readme ?? [];
  if (first !== undefined) first.text = first.text.replace(/^\s*# .+\n/, "");
  for (const module of project.getReflectionsByKind(ReflectionKind.Module))
    module.name = `pulumi-apichat/${module.name}`.replace(/\/provider|\/entry$/g, "");
}

/**
 * Appends index.html to typedoc's links to the site's root: pages opened from disk cannot link to a folder.
 *
 * @param {import("typedoc").PageEvent} page
 */
function nameFirstPage(page) {
  page.contents = page.contents?.replaceAll(/(href="(?:\.\.?\/)+)(?=[#"])/g, "$1index.html");
}
