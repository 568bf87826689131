import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";

/** A request as its sender writes it. */
export interface SentRequest {
  method?: string;
  /** The path of the URL. For a REST API, its first segment is the stage. */
  path?: string;
  /** The query as written in the URL, without the question mark. */
  query?: string;
  headers?: Pairs;
  /** The event contains bytes as base64, and a string unchanged. */
  body?: string | Uint8Array;
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** Contains headers as sent, with all values, decoded parameters, and the path with and without its stage. */
export function restApiEvent(sent: SentRequest): APIGatewayProxyEvent {
  const { method = "POST", path = "/Prod/webhook", query = "" } = sent;
  const headers = [...(sent.headers ?? []), ["X-Forwarded-Proto", "https"]] as const;
  const parameters = [...new URLSearchParams(query)];
  return {
    resource: "/{proxy+}",
    path: path.replace(/^\/[^/]*/, ""),
    httpMethod: method,
    headers: Object.fromEntries(headers),
    multiValueHeaders: allValues(headers),
    queryStringParameters: parameters.length === 0 ? null : Object.fromEntries(parameters),
    multiValueQueryStringParameters: parameters.length === 0 ? null : allValues(parameters),
    pathParameters: null,
    stageVariables: null,
    requestContext: { httpMethod: method, path, stage: "Prod" } as APIGatewayProxyEvent["requestContext"],
    ...bodyOf(sent),
  };
}

export const functionUrlEvent = (sent: SentRequest): APIGatewayProxyEventV2 => formatV2(sent, "/webhook");

/** Contains lower-case header names with joined values, separate cookies, and the query as written. */
function formatV2(sent: SentRequest, defaultPath: string): APIGatewayProxyEventV2 {
  const { method = "POST", path = defaultPath, query = "" } = sent;
  const { cookie, ...headers } = allValues(lowerCase(sent));
  const { body, isBase64Encoded } = bodyOf(sent);
  const http = { method, path, protocol: "HTTP/1.1" };
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    ...(cookie && { cookies: cookie.flatMap((value) => value.split("; ")) }),
    headers: Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values.join(",")])),
    requestContext: { http } as APIGatewayProxyEventV2["requestContext"],
    ...(body !== null && { body }),
    isBase64Encoded,
  };
}

/** Contains lower-case header names, each with its last value, and the parameters as written. */
export const albEvent = (sent: SentRequest): ALBEvent => ({
  ...albCommon(sent),
  queryStringParameters: Object.fromEntries(rawParameters(sent)),
  headers: Object.fromEntries(lowerCase(sent)),
});

/** The event of a load balancer whose target group has multi-value headers. */
export const albMultiValueEvent = (sent: SentRequest): ALBEvent => ({
  ...albCommon(sent),
  multiValueQueryStringParameters: allValues(rawParameters(sent)),
  multiValueHeaders: allValues(lowerCase(sent)),
});

function albCommon(sent: SentRequest): ALBEvent {
  const { method = "POST", path = "/webhook" } = sent;
  const { body, isBase64Encoded } = bodyOf(sent);
  const elb = { targetGroupArn: "arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/lambda/1" };
  return { requestContext: { elb }, httpMethod: method, path, body: body ?? "", isBase64Encoded };
}

const lowerCase = ({ headers = [] }: SentRequest): Pairs =>
  [...headers, ["X-Forwarded-Proto", "https"] as const].map(([name, value]) => [name.toLowerCase(), value]);

const rawParameters = ({ query = "" }: SentRequest): Pairs =>
  query.split("&").flatMap((pair) => {
    const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    return pair === "" ? [] : [[name, value] as const];
  });

function bodyOf({ body }: SentRequest) {
  const isBase64Encoded = body instanceof Uint8Array;
  if (body === undefined) return { body: null, isBase64Encoded };
  return { body: Buffer.from(body).toString(isBase64Encoded ? "base64" : "utf8"), isBase64Encoded };
}

const allValues = (pairs: Pairs): Record<string, string[]> =>
  Object.fromEntries(
    [...Map.groupBy(pairs, ([name]) => name)].map(([name, all]) => [name, all.map(([, value]) => value)]),
  );

/**
 * For each Lambda trigger, a function that turns a request into the trigger's event, as AWS documents it, but
 * without the parts that no HTTP handler reads (trace ids, account, identity).
 */
export const lambdaEvents = {
  "REST API": restApiEvent,
  "HTTP API": (sent: SentRequest) => formatV2(sent, "/default/webhook"),
  "function URL": functionUrlEvent,
  "load balancer": albEvent,
  "load balancer with multi-value headers": albMultiValueEvent,
};
