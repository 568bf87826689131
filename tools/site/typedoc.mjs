/** A typedoc plugin: names pages after their first headings, and modules after the paths that programs import. */
import { readFileSync } from "node:fs";
import { ReflectionKind, Renderer } from "typedoc";

/** @param {import("typedoc").Application} app */
export function load(app) {
  // Before the search index is built.
  app.renderer.on(Renderer.EVENT_BEGIN, setNames, 1000);
}

/** @param {import("typedoc").RendererEvent} event */
function setNames({ project }) {
  for (const page of project.getReflectionsByKind(ReflectionKind.Document)) {
    const file = project.files.getReflectionPath(page);
    const [, title] = /^# (.+)$/m.exec(file === undefined ? "" : readFileSync(file, "utf8")) ?? [];
    if (title !== undefined) page.name = title.replaceAll("`", "");
  }
  for (const module of project.getReflectionsByKind(ReflectionKind.Module))
    module.name = `pulumi-apichat/${module.name}`.replace(/\/provider(\/cli)?/, "");
}
