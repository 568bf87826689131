import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";
import type { EmulatorOptions, RecordedRequest } from "../../provider/emulator/index.js";
import document from "../../schema/openapi.json" with { type: "json" };
import type { Received } from "./http.ts";

/** The parts of schema/openapi.json that these checks read. */
interface OpenApiDocument {
  paths: Record<string, Partial<Record<"post", Operation>>>;
  webhooks: Record<"handshake" | "delivery", { post: Operation }>;
}

interface Body {
  /** By content type. */
  content: Record<string, object>;
  required?: boolean;
}

interface Operation {
  parameters?: { name: string; in: "path" | "query" | "header"; required?: boolean }[];
  requestBody: Body;
  responses: Record<string, Body>;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const openApi = document as unknown as OpenApiDocument;

// The document is not a JSON Schema. It is added whole, so that references between its schemas resolve.
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
ajv.addSchema(document, "openapi");

/** Lists how a value violates the schema that is at this place in the document. */
function listProblems(place: readonly string[], value: unknown): string[] {
  const pointer = place.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")));
  const validate = ajv.getSchema(`openapi#/${pointer.join("/")}`);
  if (!validate) throw new Error(`there is no schema at ${place.join(" / ")}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`.trim());
}

const expectNoProblems = (what: string, problems: readonly string[]): void =>
  expect(problems, [what, ...problems].join("\n- ")).toEqual([]);

/** Options that make the emulator read the specification differently from schema/openapi.json. */
const otherReadings = ["errorShape", "flowKey", "registrationKey"] as const;

/**
 * Checks an emulator's responses against the document, except responses that a fault causes. Checks nothing if
 * these options make the emulator differ from the document.
 */
export function expectRecordsMatchOpenApi(
  requests: readonly RecordedRequest[],
  options: EmulatorOptions = {},
): void {
  if (otherReadings.some((reading) => reading in options)) return;
  for (const { method, url, response, fault } of requests) {
    const { pathname } = new URL(url);
    const isTemplate = (path: string): boolean =>
      new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname);
    const path = Object.keys(openApi.paths).find(isTemplate) ?? "";
    const responses = openApi.paths[path]?.post?.responses;
    if (method !== "POST" || !responses || response === null || fault !== "") continue;
    const { status, headers, body } = response;
    const isEmptySuccess = status < 300 && body === "";
    const key = [`${status}`, `${Math.floor(status / 100)}XX`].find((name) => name in responses);
    const what = `${method} ${url}, answered ${status}`;
    if (key === undefined) throw new Error(`${what}: an undocumented status`);
    const place = ["paths", path, "post", "responses", key];
    if (!isEmptySuccess) expectNoProblems(what, listBodyProblems(responses[key], place, headers, body));
  }
}

/** Checks that a request from the service to a webhook URL matches the document. */
export function expectMatchesWebhook(
  name: keyof OpenApiDocument["webhooks"],
  { method, path, headers, body }: Received,
): void {
  const { parameters = [], requestBody } = openApi.webhooks[name].post;
  const place = ["webhooks", name, "post"];
  const query = new URL(path, "http://endpoint").searchParams;
  const problems = parameters.flatMap((parameter, index) => {
    const value =
      parameter.in === "query" ? query.get(parameter.name) : headers[parameter.name.toLowerCase()];
    if (value === null || value === undefined) return parameter.required ? [`no ${parameter.name}`] : [];
    return listProblems([...place, "parameters", String(index), "schema"], value);
  });
  if (body !== "") problems.push(...listBodyProblems(requestBody, [...place, "requestBody"], headers, body));
  else if (requestBody.required) problems.push("no body");
  expect(method).toBe("POST");
  expectNoProblems(`the webhook ${name}`, problems);
}

function listBodyProblems(
  described: Body | undefined,
  place: readonly string[],
  headers: Headers,
  text: string,
): string[] {
  const type = String(headers["content-type"]).split(";", 1).join().trim();
  if (!described || !(type in described.content)) return [`an undocumented content type: ${type}`];
  return listProblems([...place, "content", type, "schema"], readBody(type, text));
}

function readBody(type: string, text: string): unknown {
  if (type === "application/json") return JSON.parse(text);
  return type === "multipart/form-data" ? readParts(text) : Object.fromEntries(new URLSearchParams(text));
}

/** Reads the fields of a multipart form, independently of the reader under test. */
export const readParts = (body: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(body.matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g), ([, name = "", value = ""]) => [name, value]),
  );
