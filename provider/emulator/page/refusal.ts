import type { ContactMessageAnswer, ControlError } from "../control/shapes.js";

/** Why the emulator did not do what it was asked: in its own words, or by what `bot_url` answered. */
export type PageRefusal = ControlError["error"] | ContactMessageAnswer;

/** What the text of an answer says; undefined if it is not the control API's: what stands in front of it answered. */
export function readRefusal(text: string): PageRefusal | undefined {
  const { error, status, body } = parse(text) as Partial<ControlError & ContactMessageAnswer>;
  if (typeof error?.message === "string") return error;
  return typeof status === "number" ? { status, body } : undefined;
}

function parse(text: string): object {
  try {
    return Object(JSON.parse(text)) as object;
  } catch {
    return {};
  }
}
