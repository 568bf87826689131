import { inFleetWords } from "../cli/flag-words.js";
import type { Failure } from "./reports.js";

/** What the first line says is all that a table or a live line has room for. */
export const firstLine = (text: string): string => text.trim().split(/\r?\n/, 1)[0] ?? "";

/** The provider begins a message with the name of the resource, and the engine may say before it what it was at. */
export function withoutName(failure: Failure): Failure {
  const { workspace } = failure;
  const message = inFleetWords(failure.message.replace(/^Preview failed: /, ""));
  const prefix = `${workspace ?? ""}: `;
  return workspace !== undefined && message.startsWith(prefix)
    ? { ...failure, message: message.slice(prefix.length) }
    : { ...failure, message };
}

/** What failures of one cause share: their first line without the workspace's name, paths of URLs and numbers of attempts. */
export function commonText({ workspace, message }: Failure): string {
  const text = firstLine(message)
    .replace(URLS, "$1/…")
    .replace(/\(after \d+ attempts\)/, "(after … attempts)");
  return workspace === undefined ? text : text.replaceAll(nameWithin(workspace), "…");
}

/** An origin, and what follows it up to a space, a quote, or the sign that ends a clause. */
const URLS = /(https?:\/\/[^\s"'<>/?#]+)[/?#][^\s"'<>]*?(?=[.,:;)]*(?:[\s"'<>]|$))/g;

/** Not as a part of a longer word. */
const nameWithin = (name: string): RegExp =>
  new RegExp(`(?<![\\w-])${name.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")}(?![\\w-])`, "g");

/** Why a run stops after so many failures. */
export const describeTooMany = (failures: number): string =>
  `${failures === 1 ? "1 failure" : `${failures} failures`}, the most allowed (--stop-after-failures)`;

/** Failures that are the same but for the workspace, in the order of the first of each. */
export const groupFailures = <F extends Failure>(failures: readonly F[]): F[][] => [
  ...Map.groupBy(failures, causeOf).values(),
];

/** The same for failures of one cause. What concerns a whole stack is no failure of a workspace. */
export const causeOf = (failure: Failure): string =>
  JSON.stringify([failure.workspace === undefined, commonText(failure)]);
