import { InvalidArgumentError } from "commander";
import { checkUrl } from "../resource/checks.js";

/** A port to listen on. For commander, as the others here. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a whole number from 0 to 65535; 0 is any that is free.");
}

/** An absolute http or https URL. */
export function parseUrl(text: string): string {
  const [failure] = checkUrl("It", text, "http://127.0.0.1:3000/messages");
  if (failure === undefined) return text;
  throw new InvalidArgumentError(`${failure.reason}.`);
}

/** Adds one value of an option that may be given several times. */
export const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];
