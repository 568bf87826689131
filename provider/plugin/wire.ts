import protobuf from "google-protobuf/google/protobuf/struct_pb.js";
import { UNKNOWN } from "../pulumi/unknown.js";
import { isMarked, markSecrets, type Path } from "../pulumi/secret-values.js";

// The engine encodes property values as protobuf structs, in which secret and unknown values are marked.

/** Unwrapped property values, as the lifecycles use them. An unknown value is {@link UNKNOWN}. */
export type PropertyValues = Record<string, unknown>;

/** The engine's placeholders for an unknown string, boolean, number, list, asset, archive and object. */
const UNKNOWNS = new Set([
  UNKNOWN,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
]);

export interface ReceivedProperties {
  values: PropertyValues;
  /** The paths of the values that the engine marked as secret. */
  secrets: Path[];
  secretTexts: string[];
}

/** Unwraps secret and unknown values. Leaves out properties that are null, and the one named `except`. */
export function decodeValues(struct: protobuf.Struct | undefined, except = ""): ReceivedProperties {
  const { [except]: _, ...values } = struct?.toJavaScript() ?? {};
  const received: ReceivedProperties = { values: {}, secrets: [], secretTexts: [] };
  received.values = (takeMarks(values, [], received) ?? {}) as PropertyValues;
  return received;
}

function takeMarks(value: unknown, path: Path, received: ReceivedProperties): unknown {
  if (typeof value === "string") return UNKNOWNS.has(value) ? UNKNOWN : value;
  if (value === null) return undefined;
  // A null item is kept, so that the others keep their index.
  if (Array.isArray(value)) return value.map((item) => takeMarks(item, path, received) ?? null);
  if (typeof value !== "object") return value;
  if (isMarked(value)) {
    const secret = takeMarks(value.value, path, received);
    received.secrets.push(path);
    received.secretTexts.push(...textsIn(secret));
    return secret;
  }
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    takeMarks(inner, [...path, name], received),
  ]);
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

export const encodeValues = (values: object, secrets: readonly Path[] = []): protobuf.Struct =>
  protobuf.Struct.fromJavaScript(markSecrets(values, secrets) as never);
