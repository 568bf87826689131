import protobuf from "google-protobuf/google/protobuf/struct_pb.js";
import { isUnknown, UNKNOWN } from "../lib/checks.js";

// How the engine writes property values: protobuf structs, in which a secret and an unknown value are marked.

/** Property values in clear, as the lifecycles have them. An unknown value is {@link UNKNOWN}. */
export type Values = Record<string, unknown>;

/** Names of nested properties, outermost first. `*` stands for any one. */
export type Path = readonly string[];

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** What stands for an unknown value of each kind: text, boolean, number, list, asset, archive, object. */
const UNKNOWNS = new Set([
  UNKNOWN,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
]);

export interface Received {
  values: Values;
  /** Where the engine marked a secret. */
  secrets: Path[];
}

/** Takes the marks off. A property that is null counts as not given. */
export function receive(struct: protobuf.Struct | undefined): Received {
  const secrets: Path[] = [];
  const values = (takeMarks(struct?.toJavaScript() ?? {}, [], secrets) ?? {}) as Values;
  return { values, secrets };
}

function takeMarks(value: unknown, path: Path, secrets: Path[]): unknown {
  if (typeof value === "string") return UNKNOWNS.has(value) ? UNKNOWN : value;
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map((one) => takeMarks(one, path, secrets));
  if (typeof value !== "object") return value;
  if (SIGNATURE in value && value[SIGNATURE] === SECRET) {
    secrets.push(path);
    return takeMarks((value as Values)["value"], path, secrets);
  }
  const entries = Object.entries(value).map(([name, one]) => [
    name,
    takeMarks(one, [...path, name], secrets),
  ]);
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
}

/** Marks what is secret: whatever lies at one of these paths. */
export function send(values: object, secrets: readonly Path[] = []): protobuf.Struct {
  return protobuf.Struct.fromJavaScript(putMarks(values, [], secrets) as never);
}

function putMarks(value: unknown, path: Path, secrets: readonly Path[]): unknown {
  if (path.length > 0 && secrets.some((secret) => matches(secret, path))) {
    return { [SIGNATURE]: SECRET, value: putMarks(value, [], []) };
  }
  if (Array.isArray(value)) return value.map((one) => putMarks(one, path, secrets));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(entries.map(([name, one]) => [name, putMarks(one, [...path, name], secrets)]));
}

const matches = (pattern: Path, path: Path): boolean =>
  pattern.length === path.length && pattern.every((name, index) => name === "*" || name === path[index]);

/** Whether a preview does not know a value, or anything in it. */
export const holdsUnknown = (value: unknown): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).some(holdsUnknown) : isUnknown(value);
