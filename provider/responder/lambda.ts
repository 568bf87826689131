import { STATUS_CODES } from "node:http";
import type { Answer } from "./answers.js";
import type { BodyFailure, IncomingRequest } from "./request.js";
import type { Responder } from "./responder.js";

type Values<Value = string> = Readonly<Record<string, Value | undefined>> | null | undefined;
type Pairs = readonly (readonly [name: string, value: string])[];

interface EventBody {
  /** The body: text, or base64 if `isBase64Encoded`. */
  body?: string | null | undefined;
  /** Whether the body is base64. Default false. */
  isBase64Encoded?: boolean | undefined;
}

/**
 * An event of an Application Load Balancer, or of API Gateway in payload format 1.0: REST APIs, and HTTP APIs
 * that are set to it.
 */
export interface LambdaEventV1 extends EventBody {
  /** The HTTP method. */
  httpMethod: string;
  /** The path; of a REST API without the stage. */
  path: string;
  /** The headers, with the last value of repeated ones. */
  headers?: Values;
  /** The headers with all values. */
  multiValueHeaders?: Values<readonly string[]>;
  /** The query, with the last value of repeated names. */
  queryStringParameters?: Values;
  /** The query with all values. */
  multiValueQueryStringParameters?: Values<readonly string[]>;
  /** What sent the event. */
  requestContext?:
    | {
        /** Present if it was a load balancer. */
        elb?: object | undefined;
        /** The path with the stage of a REST API. */
        path?: string | undefined;
      }
    | undefined;
}

/** An event in payload format 2.0: function URLs and HTTP APIs. */
export interface LambdaEventV2 extends EventBody {
  /** The path, with the stage if there is one. */
  rawPath: string;
  /** The query without its question mark. */
  rawQueryString: string;
  /** The headers, values of repeated ones joined with commas. */
  headers?: Values;
  /** The cookies, which are not in `headers`. */
  cookies?: readonly string[] | undefined;
  /** What sent the event. */
  requestContext: {
    /** The request line. */
    http: {
      /** The HTTP method. */
      method: string;
    };
  };
}

/** The HTTP events of AWS Lambda. The types of @types/aws-lambda are assignable to it. */
export type LambdaHttpEvent = LambdaEventV1 | LambdaEventV2;

/** A response in the shape that the event requires. It is assignable to the result types of @types/aws-lambda. */
export interface LambdaHttpResult {
  /** The HTTP status. */
  statusCode: number;
  /** For load balancers, such as "200 OK". */
  statusDescription?: string;
  /** Absent for load balancers with multi-value headers, which get `multiValueHeaders`. */
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
 * Converts a responder to a handler for AWS Lambda: for API Gateway (REST and HTTP APIs), function URLs and Application
 * Load Balancers, which it recognises by the event. Rejects with a TypeError for any other event.
 *
 * The path is the one that the sender wrote, which is the webhook URL's: with the stage of API Gateway, if the URL has
 * one. (`path` of a REST API's event leaves it out.) A body that is not base64 is taken as UTF-8: a REST API must pass
 * JSON as text or everything as binary, and transform nothing. Promises passed to `waitUntil` settle before the handler
 * returns, because the runtime is frozen after that.
 *
 * @example
 * export const handler = toLambdaHandler(responder);
 */
export function toLambdaHandler(responder: Pick<Responder, "answer">): LambdaHandler {
  return async (event) => {
    const request = fromLambdaEvent(event);
    const pending: Promise<unknown>[] = [];
    const answer = await responder.answer(request, { waitUntil: (promise) => void pending.push(promise) });
    // The list may grow meanwhile: work may leave more work.
    for (const promise of pending) await promise;
    return toLambdaResult(answer, event);
  };
}

function fromLambdaEvent(event: LambdaHttpEvent): IncomingRequest {
  // The configured trigger decides what the function is called with, so the types prove nothing here.
  const { rawPath, requestContext, httpMethod, path } = (event ?? {}) as Partial<
    LambdaEventV1 & LambdaEventV2
  >;
  if (typeof rawPath === "string" && typeof requestContext?.http?.method === "string") {
    return fromV2(event as LambdaEventV2);
  }
  if (typeof httpMethod === "string" && typeof path === "string") return fromV1(event as LambdaEventV1);
  throw new TypeError(
    "toLambdaHandler: takes events of API Gateway (REST and HTTP APIs), " +
      "function URLs and Application Load Balancers; write your own handler for other triggers",
  );
}

function fromV2(event: LambdaEventV2): IncomingRequest {
  const { rawPath, rawQueryString, headers, cookies = [], requestContext } = event;
  const pairs = pairsOf(headers);
  return toRequest(event, {
    method: requestContext.http.method,
    url: toTarget(rawPath, rawQueryString),
    headers: cookies.length === 0 ? pairs : [...pairs, ["cookie", cookies.join("; ")]],
  });
}

function fromV1(event: LambdaEventV1): IncomingRequest {
  const { requestContext, multiValueHeaders, multiValueQueryStringParameters } = event;
  const query = pairsOf(multiValueQueryStringParameters ?? event.queryStringParameters);
  // API Gateway has decoded the parameters, a load balancer has not.
  const queryString = isFromLoadBalancer(event)
    ? query.map((pair) => pair.join("=")).join("&")
    : new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString();
  return toRequest(event, {
    method: event.httpMethod,
    url: toTarget(requestContext?.path ?? event.path, queryString),
    headers: pairsOf(multiValueHeaders ?? event.headers),
  });
}

const isFromLoadBalancer = (event: LambdaHttpEvent): boolean =>
  event.requestContext !== undefined && "elb" in event.requestContext;

const toTarget = (path: string, query: string): string => (query === "" ? path : `${path}?${query}`);

function pairsOf(values: Values<string | readonly string[]>): Pairs {
  return Object.entries(values ?? {}).flatMap(([name, value = []]) =>
    [value].flat().map((one) => [name, one] as const),
  );
}

function toRequest(body: EventBody, head: { method: string; url: string; headers: Pairs }): IncomingRequest {
  return {
    method: head.method,
    url: head.url,
    header: (name) => {
      const values = head.headers.filter((pair) => pair[0].toLowerCase() === name).map((pair) => pair[1]);
      return values.length === 0 ? undefined : values.join(", ");
    },
    headers: () => head.headers,
    readBody: (limitBytes) => readBody(body, limitBytes),
  };
}

function readBody({ body, isBase64Encoded }: EventBody, limitBytes: number): Uint8Array | BodyFailure {
  const text = body ?? "";
  const encoding = isBase64Encoded === true ? "base64" : "utf8";
  if (Buffer.byteLength(text, encoding) > limitBytes) return "body_too_large";
  return Buffer.from(text, encoding);
}

function toLambdaResult({ status, headers, body }: Answer, event: LambdaHttpEvent): LambdaHttpResult {
  const result = { statusCode: status, body, isBase64Encoded: false };
  if (!isFromLoadBalancer(event)) return { ...result, headers };
  const statusDescription = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  if (!("multiValueHeaders" in event && event.multiValueHeaders))
    return { ...result, statusDescription, headers };
  const lists = Object.entries(headers).map(([name, value]): [string, string[]] => [name, [value]]);
  return { ...result, statusDescription, multiValueHeaders: Object.fromEntries(lists) };
}
