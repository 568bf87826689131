import type * as z from "zod";
import * as shapes from "../../../schema/index.js";
import { samples, type SampleName } from "../../../tools/schema/samples.ts";

/** Stands for a field that is left out. */
export const missing = Symbol("missing");

/** One shape: where its JSON Schema stands, its zod schema, and a value that is right. */
export interface Shape {
  name: string;
  /** A JSON pointer into the generated files. */
  ref: string;
  zod: z.ZodType;
  valid: Record<string, unknown>;
}

/** By the path of a field, the values that are put there one at a time; the rest of the value stays right. */
export type ValuesByPath = Record<string, readonly unknown[]>;

export interface CorpusEntry {
  shape: Shape;
  accepted: ValuesByPath;
  rejected: ValuesByPath;
}

const zodByName: Record<string, unknown> = { ...shapes };

/**
 * The entry of a type in a generated file, or the whole of one; its zod schema is named as it is, in lower case. The name is
 * the sample's unless another is given.
 */
export function entryOf(
  sample: SampleName,
  file: string,
  values: Pick<CorpusEntry, "accepted" | "rejected">,
  name: string = sample,
): CorpusEntry {
  const isComplete = file === name.replaceAll(/(?<!^)[A-Z]/g, "-$&").toLowerCase() || file === "handshake";
  const ref = `${file}.schema.json#${isComplete ? "" : `/definitions/${name}`}`;
  const zod = zodByName[name.charAt(0).toLowerCase() + name.slice(1)] as z.ZodType;
  return { shape: { name, ref, zod, valid: samples[sample] }, ...values };
}

export const notStrings = [5, true, null, ["x"], { x: "x" }];
export const requiredString = [missing, ...notStrings];
export const nonEmptyString = [...requiredString, ""];
export const requestUrl = [
  ...nonEmptyString,
  "chat.example",
  "localhost:3000",
  "/hook",
  "ftp://a.example/",
  "https://",
  "https:///x",
  "https://a.example/a b",
  " https://a.example",
];
export const receivedUrl = [
  ...nonEmptyString,
  "chat.example",
  "/media/1.png",
  "ftp://a.example/",
  "data:image/png;base64,AA==",
  "https://",
];
export const urlsInRequests = [
  "http://localhost:3000",
  "https://chat.example/hook?x=1",
  "HTTPS://chat.example",
  "https://[::1]:8443/ü",
];
export const literal = (value: string) => [...nonEmptyString, `${value}s`, value.toUpperCase()];
export const extra = { extra: [1, null, "x"] };
