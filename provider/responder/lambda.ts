import { STATUS_CODES } from "node:http";
import type { Answer } from "./answers.js";
import type { BodyFailure, IncomingRequest } from "./request.js";
import type { Responder } from "./responder.js";

type Values<Value = string> = Readonly<Record<string, Value | undefined>> | null | undefined;
type Pair = [name: string, value: string];

/**
 * The parts of an AWS Lambda HTTP event that the handler reads. Events of @types/aws-lambda are assignable to
 * this type. Function URLs and HTTP APIs send payload format 2.0. REST APIs and Application Load Balancers send
 * format 1.0, and so do HTTP APIs that are configured for it.
 */
export interface LambdaHttpEvent {
  /** Format 2.0: the path, including the stage if the API has one. */
  rawPath?: string | undefined;
  /** Format 2.0: the query without its question mark. */
  rawQueryString?: string | undefined;
  /** Format 2.0: the cookies, which are not in `headers`. */
  cookies?: readonly string[] | undefined;
  /** Format 1.0: the HTTP method. */
  httpMethod?: string | undefined;
  /** Format 1.0: the path. In events of a REST API, it lacks the stage. */
  path?: string | undefined;
  /** Format 1.0: the query, with only the last value of each repeated name. */
  queryStringParameters?: Values;
  /** Format 1.0: the query with all values. */
  multiValueQueryStringParameters?: Values<readonly string[]>;
  /** Format 1.0: the headers with all values. */
  multiValueHeaders?: Values<readonly string[]>;
  /** The headers. Format 2.0 joins repeated values with commas; format 1.0 keeps only the last one. */
  headers?: Values;
  /** The body: text, or base64 if `isBase64Encoded`. */
  body?: string | null | undefined;
  /** Whether the body is base64. Default false. */
  isBase64Encoded?: boolean | undefined;
  /** Information about the sender of the event. */
  requestContext?:
    | {
        /** Format 2.0: the request line. */
        http?: Pick<IncomingRequest, "method"> | undefined;
        /** Present if a load balancer sent the event. */
        elb?: object | undefined;
        /** Format 1.0: the path, including the stage of a REST API. */
        path?: string | undefined;
      }
    | undefined;
}

/** A response in the shape that the event requires. It is assignable to the result types of @types/aws-lambda. */
export interface LambdaHttpResult {
  /** The HTTP status. */
  statusCode: number;
  /** Only for load balancers; for example "200 OK". */
  statusDescription?: string;
  /** Absent for load balancers with multi-value headers, which receive `multiValueHeaders` instead. */
  headers?: Record<string, string>;
  /** In place of `headers`, for load balancers with multi-value headers. */
  multiValueHeaders?: Record<string, string[]>;
  /** The body as text. */
  body: string;
  /** Always false. */
  isBase64Encoded: boolean;
}

/** Answers one event of AWS Lambda. */
export type LambdaHandler = (event: LambdaHttpEvent) => Promise<LambdaHttpResult>;

/**
 * Converts a responder into a handler for AWS Lambda. The handler accepts events of API Gateway (REST and HTTP APIs),
 * function URLs and Application Load Balancers. It rejects with a TypeError for any other event.
 *
 * The responder receives the path as the sender sent it, including API Gateway's stage if the webhook URL contains one
 * (the `path` of a REST API's event lacks it). A body that is not base64 is read as UTF-8. So a REST API must pass
 * either JSON as text or everything as binary, and must not transform bodies. The handler waits for promises passed to
 * `waitUntil` before it returns, because Lambda freezes the process after that.
 *
 * @example
 * export const handler = toLambdaHandler(responder);
 */
export function toLambdaHandler(responder: Pick<Responder, "answer">): LambdaHandler {
  return async (event) => {
    const request = fromLambdaEvent(event);
    const pending: Promise<unknown>[] = [];
    const answer = await responder.answer(request, { waitUntil: (promise) => void pending.push(promise) });
    // The list may grow during the loop, because this work may call `waitUntil` again.
    for (const promise of pending) await promise;
    return toLambdaResult(answer, event);
  };
}

function fromLambdaEvent(event: LambdaHttpEvent): IncomingRequest {
  // The configured trigger determines the event, so the types guarantee nothing here.
  const { rawPath, rawQueryString = "", requestContext, httpMethod, path } = event ?? {};
  const method = requestContext?.http?.method;
  if (typeof rawPath === "string" && typeof method === "string") {
    const { headers, cookies = [] } = event;
    const cookie = cookies.length === 0 ? [] : [["cookie", cookies.join("; ")] satisfies Pair];
    return toRequest(event, method, toTarget(rawPath, rawQueryString), [...pairsOf(headers), ...cookie]);
  }
  if (typeof httpMethod === "string" && typeof path === "string") {
    const url = toTarget(requestContext?.path ?? path, queryOf(event));
    return toRequest(event, httpMethod, url, pairsOf(event.multiValueHeaders ?? event.headers));
  }
  throw new TypeError(
    "toLambdaHandler: accepts only events of API Gateway (REST and HTTP APIs), " +
      "function URLs and Application Load Balancers; write your own handler for other triggers",
  );
}

/** API Gateway decodes the parameters of format 1.0, but a load balancer does not. */
function queryOf(event: LambdaHttpEvent): string {
  const pairs = pairsOf(event.multiValueQueryStringParameters ?? event.queryStringParameters);
  return isFromLoadBalancer(event)
    ? pairs.map((pair) => pair.join("=")).join("&")
    : new URLSearchParams(pairs).toString();
}

const isFromLoadBalancer = (event: LambdaHttpEvent): boolean =>
  event.requestContext !== undefined && "elb" in event.requestContext;

const toTarget = (path: string, query: string): string => (query === "" ? path : `${path}?${query}`);

function pairsOf(values: Values<string | readonly string[]>): Pair[] {
  return Object.entries(values ?? {}).flatMap(([name, value = []]) =>
    [value].flat().map((one): Pair => [name, one]),
  );
}

function toRequest(event: LambdaHttpEvent, method: string, url: string, headers: Pair[]): IncomingRequest {
  return {
    method,
    url,
    header: (name) => {
      const values = headers.filter((pair) => pair[0].toLowerCase() === name).map((pair) => pair[1]);
      return values.length === 0 ? undefined : values.join(", ");
    },
    headers: () => headers,
    readBody: (limitBytes) => readBody(event, limitBytes),
  };
}

function readBody({ body, isBase64Encoded }: LambdaHttpEvent, limitBytes: number): Uint8Array | BodyFailure {
  const text = body ?? "";
  const encoding = isBase64Encoded === true ? "base64" : "utf8";
  if (Buffer.byteLength(text, encoding) > limitBytes) return "body_too_large";
  return Buffer.from(text, encoding);
}

function toLambdaResult({ status, headers, body }: Answer, event: LambdaHttpEvent): LambdaHttpResult {
  const result = { statusCode: status, body, isBase64Encoded: false };
  if (!isFromLoadBalancer(event)) return { ...result, headers };
  const statusDescription = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  if (!event.multiValueHeaders) return { ...result, statusDescription, headers };
  const lists = Object.entries(headers).map(([name, value]): [string, string[]] => [name, [value]]);
  return { ...result, statusDescription, multiValueHeaders: Object.fromEntries(lists) };
}
