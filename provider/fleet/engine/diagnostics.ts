/** Lines with marks for colours, which the engine puts into some texts. */
const COLOR_MARK = /<\{%.*?%\}>/g;

/** The lines of a text of the engine or the provider, without what is empty. */
export const linesOf = (text: string): string[] =>
  text
    .replaceAll(COLOR_MARK, "")
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== "");

/** The text of an error, without what the engine puts around the message of a check. */
export function cleanError(text: string): string {
  const message = linesOf(text).join("\n");
  return message
    .replace(/^Preview failed: /, "")
    .replace(/^(?:error: )?pulumi-nodejs:\S+ resource '[^']*' has a problem: /, "");
}

/** The engine's warning that an earlier run was ended in the middle. */
export const saysPending = (text: string): boolean => /pending (?:operations|CREATE)/i.test(text);
