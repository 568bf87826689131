import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";
import type { EmulatorOptions, RecordedRequest } from "../../provider/emulator/index.js";
import document from "../../schema/openapi.json" with { type: "json" };
import type { Received } from "./http.ts";

/** The parts of schema/openapi.json that these checks read. */
interface OpenApiDocument {
  paths: Record<string, Partial<Record<string, Operation>>>;
  webhooks: Record<"handshake" | "delivery", { post: Operation }>;
}

interface Operation {
  parameters?: { name: string; in: "path" | "query" | "header"; required?: boolean }[];
  requestBody: { required?: boolean; content: Record<string, object> };
  responses: Record<string, { content?: Record<string, object> }>;
  security: object[];
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const openApi = document as unknown as OpenApiDocument;

// The document is not a JSON Schema, but its schemas refer to each other by their place in it.
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
ajv.addSchema(document, "openapi");

/** The problems of a value by the schema at a place in the document, given by the keys that lead to it. */
function listProblems(place: readonly string[], value: unknown): string[] {
  const pointer = place.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")));
  const validate = ajv.getSchema(`openapi#/${pointer.join("/")}`);
  if (!validate) throw new Error(`there is no schema at ${place.join(" / ")}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`.trim());
}

const expectNoProblems = (what: string, problems: readonly string[]): void =>
  expect(problems, [what, ...problems].join("\n- ")).toEqual([]);

/** Readings of the specification that schema/openapi.json does not share. */
const otherReadings = ["errorShape", "flowKey", "registrationKey"] as const;

/**
 * Checks everything that an emulator with these options received and sent against the document, except requests with a
 * fault. Checks nothing if the emulator reads the specification differently from the document.
 */
export function expectRecordsMatchOpenApi(
  requests: readonly RecordedRequest[],
  options: EmulatorOptions = {},
): void {
  if (otherReadings.some((reading) => reading in options)) return;
  for (const record of requests) {
    const { method, url, response, fault } = record;
    if (response !== null && fault === "")
      expectNoProblems(
        `${method} ${url}, answered ${response.status}`,
        listExchangeProblems(record, response),
      );
  }
}

/**
 * A known status with its body, and after a success a valid request. An address that is not in the document must get
 * 404, a method that is not must get 405.
 */
function listExchangeProblems(
  { method, url, request }: RecordedRequest,
  { status, headers, body }: NonNullable<RecordedRequest["response"]>,
): string[] {
  const { pathname } = new URL(url);
  const template = Object.keys(openApi.paths).find((path) =>
    new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname),
  );
  if (template === undefined) return status === 404 ? [] : ["not 404 for an unknown address"];
  const operation = openApi.paths[template]?.[method.toLowerCase()];
  // An unknown address may be reported before a wrong method.
  if (!operation && status === 404) return [];
  if (!operation) return status === 405 && headers["allow"] === "POST" ? [] : ["not 405 with allow: POST"];
  const place = ["paths", template, method.toLowerCase()];
  const isSuccess = status >= 200 && status < 300;
  const problems = isSuccess ? listRequestProblems(operation, place, url, request) : [];
  const key = [String(status), `${String(status).slice(0, 1)}XX`].find((name) => name in operation.responses);
  if (key === undefined) return [...problems, "an undocumented status"];
  const content = operation.responses[key]?.content;
  if (content === undefined || (isSuccess && body === "")) return problems;
  return [...problems, ...listBodyProblems(content, [...place, "responses", key], headers, body)];
}

function listRequestProblems(
  operation: Operation,
  place: readonly string[],
  url: string,
  { headers, body }: RecordedRequest["request"],
): string[] {
  const isUnsigned = operation.security.length > 0 && !/^Bearer ./.test(String(headers["authorization"]));
  return [
    ...(isUnsigned ? ["accepted without a bearer token"] : []),
    ...listParameterProblems(operation, place, url, headers),
    // A client need not name the type of its body: the service reads it as JSON in any case.
    ...listProblems([...place, "requestBody", "content", "application/json", "schema"], JSON.parse(body)),
  ];
}

/** Checks a request that the service sent to a webhook URL against the document. */
export function expectMatchesWebhook(
  name: keyof OpenApiDocument["webhooks"],
  { method, path, headers, body }: Received,
): void {
  const { post } = openApi.webhooks[name];
  const place = ["webhooks", name, "post"];
  const { content, required = false } = post.requestBody;
  const problems = listParameterProblems(post, place, path, headers);
  if (body !== "") problems.push(...listBodyProblems(content, [...place, "requestBody"], headers, body));
  else if (required) problems.push("no body");
  expect(method).toBe("POST");
  expectNoProblems(`the webhook ${name}`, problems);
}

/** The parameters in query and headers; those in the path have already matched. */
function listParameterProblems(
  { parameters = [] }: Operation,
  place: readonly string[],
  url: string,
  headers: Headers,
): string[] {
  const query = new URL(url, "http://service").searchParams;
  return parameters.flatMap((parameter, index) => {
    const { name, required } = parameter;
    const value = parameter.in === "query" ? query.get(name) : headers[name.toLowerCase()];
    if (value === null || value === undefined) return required ? [`no ${name}`] : [];
    return listProblems([...place, "parameters", String(index), "schema"], value);
  });
}

function listBodyProblems(
  content: Record<string, object>,
  place: readonly string[],
  headers: Headers,
  text: string,
): string[] {
  const type = String(headers["content-type"]).split(";", 1).join().trim();
  if (!(type in content)) return [`an undocumented content type: ${type}`];
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
