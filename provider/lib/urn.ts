/** Splits `urn:pulumi:<stack>::<project>::<types>::<name>`. The type is the resource's own, the last of the types. */
export function parseUrn(urn: string): Record<"stack" | "project" | "type" | "name", string> {
  const [start = "", project = "", types = "", ...name] = urn.split("::");
  return {
    stack: start.split(":").at(-1) ?? "",
    project,
    type: types.split("$").at(-1) ?? "",
    name: name.join("::"),
  };
}
