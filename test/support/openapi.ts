import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { EmulatorOptions, RecordedRequest } from "../../provider/emulator/index.js";

/** The parts of schema/openapi.json that these checks read. */
interface OpenApiDocument {
  paths: Record<string, PathItem>;
  webhooks: Record<WebhookName, PathItem>;
  components: { schemas: Record<string, object> };
}

type PathItem = { parameters?: Parameter[] } & Partial<Record<string, Operation>>;

interface Operation {
  parameters?: Parameter[];
  requestBody: Body & { required: boolean };
  responses: Record<string, Partial<Body> & { headers?: Record<string, object> }>;
  security: Record<string, unknown>[];
}

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
}

interface Body {
  content: Record<string, { examples?: Record<string, { value: unknown }>; example?: unknown }>;
}

type WebhookName = "handshake" | "delivery";

/** A request on the wire. */
export interface SentRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** A string, or parsed JSON. */
  body: unknown;
}

/** A request and its answer. */
interface Exchange extends SentRequest {
  status: number;
  answer: { headers: Readonly<Record<string, string>>; body: string };
}

const openApi = JSON.parse(
  readFileSync(new URL("../../schema/openapi.json", import.meta.url), "utf8"),
) as OpenApiDocument;

// The document is not a JSON Schema, but its schemas refer to each other by their place in it.
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
ajv.addSchema(openApi, "openapi");

/** The problems of a value by the schema at a place in the document, given by the keys that lead to it. */
function listProblems(place: readonly string[], value: unknown): string[] {
  const pointer = place.map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")));
  const validate = ajv.getSchema(`openapi#/${pointer.join("/")}`);
  if (!validate) throw new Error(`there is no schema at ${place.join(" / ")}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`.trim());
}

/**
 * Checks an exchange with the service against the document: a known status with its body, and after a success
 * a valid request. An address that is not in the document must get 404, a method that is not must get 405.
 */
function expectMatchesOpenApi(exchange: Exchange): void {
  const { method, path, status } = exchange;
  expectNoProblems(`${method} ${path}, answered ${status}`, listExchangeProblems(exchange));
}

/** Readings of the specification that schema/openapi.json does not share. */
const otherReadings = ["errorShape", "flowKey", "registrationKey"] as const;

/**
 * Checks with {@link expectMatchesOpenApi} everything that an emulator with these options received and sent,
 * except requests with a fault. Checks nothing if the emulator reads the specification differently from the
 * document.
 */
export function expectRecordsMatchOpenApi(
  requests: readonly RecordedRequest[],
  options: EmulatorOptions = {},
): void {
  if (otherReadings.some((reading) => reading in options)) return;
  for (const { method, url, request, response, fault } of requests) {
    if (response === null || fault !== "") continue;
    const { pathname, search } = new URL(url);
    const { status, ...answer } = response;
    const { headers, body } = request;
    const exchange = { method, path: pathname + search, headers, status, answer };
    expectMatchesOpenApi({ ...exchange, body: isSuccess(status) ? (JSON.parse(body) as unknown) : body });
  }
}

/** Checks a request that the service sent to a webhook URL against the document. */
export function expectMatchesWebhook(name: WebhookName, request: SentRequest): void {
  const { post } = openApi.webhooks[name];
  if (!post) throw new Error(`the webhook ${name} is no POST`);
  const place = ["webhooks", name, "post"];
  const problems = [
    ...listParameterProblems(post, place, request),
    ...listBodyProblems(post, place, request),
  ];
  expect(request.method).toBe("POST");
  expectNoProblems(`the webhook ${name}`, problems);
}

function expectNoProblems(what: string, problems: readonly string[]): void {
  expect(problems, [what, ...problems].join("\n- ")).toEqual([]);
}

function listExchangeProblems(exchange: Exchange): string[] {
  const { pathname } = new URL(exchange.path, "http://service");
  const template = Object.keys(openApi.paths).find((candidate) => patternOf(candidate).test(pathname));
  if (template === undefined) return exchange.status === 404 ? [] : ["not 404 for an unknown address"];
  const operation = openApi.paths[template]?.[exchange.method.toLowerCase()];
  if (!operation) return listMethodProblems(exchange);
  const place = ["paths", template, exchange.method.toLowerCase()];
  return [
    ...listAnswerProblems(operation, place, exchange),
    ...(isSuccess(exchange.status) ? listRequestProblems(operation, place, exchange) : []),
  ];
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}

/** An unknown address may be reported before a wrong method. */
function listMethodProblems({ status, answer }: Exchange): string[] {
  if (status === 404) return [];
  return status === 405 && answer.headers["allow"] === "POST"
    ? []
    : ["not 405 with allow for a wrong method"];
}

function listAnswerProblems(operation: Operation, place: readonly string[], exchange: Exchange): string[] {
  const { status, answer } = exchange;
  const key = [String(status), `${String(status).slice(0, 1)}XX`].find((name) => name in operation.responses);
  if (key === undefined) return ["an undocumented status"];
  const content = Object.keys(operation.responses[key]?.content ?? {});
  if (content.length === 0 || (isSuccess(status) && answer.body === "")) return [];
  const type = mediaTypeOf(answer.headers);
  if (!content.includes(type)) return [`an undocumented content type: ${type}`];
  return listProblems([...place, "responses", key, "content", type, "schema"], JSON.parse(answer.body)).map(
    (problem) => `answer: ${problem}`,
  );
}

function listRequestProblems(operation: Operation, place: readonly string[], request: SentRequest): string[] {
  const isUnsigned =
    operation.security.length > 0 && !/^Bearer ./.test(String(request.headers["authorization"]));
  return [
    ...(isUnsigned ? ["taken without a bearer token"] : []),
    ...listParameterProblems(operation, place, request),
    // A client need not name the type of its body: the service reads it as JSON in any case.
    ...listProblems([...place, "requestBody", "content", "application/json", "schema"], request.body),
  ];
}

/** The parameters in query and headers; those in the path have already matched. */
function listParameterProblems(
  operation: Operation,
  place: readonly string[],
  request: SentRequest,
): string[] {
  const query = new URL(request.path, "http://service").searchParams;
  return (operation.parameters ?? []).flatMap((parameter, index) => {
    const value =
      parameter.in === "query" ? query.get(parameter.name) : request.headers[parameter.name.toLowerCase()];
    if (value === null || value === undefined) return parameter.required ? [`no ${parameter.name}`] : [];
    return listProblems([...place, "parameters", String(index), "schema"], value);
  });
}

function listBodyProblems(operation: Operation, place: readonly string[], request: SentRequest): string[] {
  const text = String(request.body);
  if (text === "") return operation.requestBody.required ? ["no body"] : [];
  const type = mediaTypeOf(request.headers);
  if (!(type in operation.requestBody.content)) return [`an undocumented content type: ${type}`];
  return listProblems([...place, "requestBody", "content", type, "schema"], readBody(type, text));
}

function readBody(type: string, text: string): unknown {
  if (type === "application/json") return JSON.parse(text);
  return type === "multipart/form-data" ? readParts(text) : Object.fromEntries(new URLSearchParams(text));
}

function mediaTypeOf(headers: SentRequest["headers"]): string {
  const [type = ""] = String(headers["content-type"]).split(";");
  return type.trim();
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Reads the fields of a multipart form, independently of the reader under test. */
export const readParts = (body: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(body.matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g), ([, name = "", value = ""]) => [name, value]),
  );
