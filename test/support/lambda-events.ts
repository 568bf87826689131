import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";

/** A request as its sender writes it. */
export interface SentRequest {
  method?: string;
  /** The path of the URL. In a REST API's event its first segment is the stage. */
  path?: string;
  /** The query as it stands in the URL, without the question mark. */
  query?: string;
  headers?: readonly (readonly [name: string, value: string])[];
  body?: string | Uint8Array;
  /** Whether AWS hands the body over as base64. Default: for bytes, not for text. */
  isBase64Encoded?: boolean;
}

/**
 * What each front of a Lambda function makes of a request: the examples of AWS's documentation with the parts of the
 * request in their places.
 */
export const lambdaEvents = {
  "REST API": restApiEvent,
  "HTTP API": httpApiEvent,
  "function URL": functionUrlEvent,
  "load balancer": albEvent,
  "load balancer with multi-value headers": albMultiValueEvent,
};

const HOSTS = {
  restApi: "70ixmpl4fl.execute-api.us-east-2.amazonaws.com",
  httpApi: "r3pmxmplak.execute-api.us-east-2.amazonaws.com",
  functionUrl: "urlid.lambda-url.us-west-2.on.aws",
  loadBalancer: "lambda-alb-123578498.us-east-2.elb.amazonaws.com",
};

/** Header names in the sender's case, every value, parameters decoded, the path with and without its stage. */
export function restApiEvent(sent: SentRequest): APIGatewayProxyEvent {
  const { method = "POST", path = "/Prod/webhook", query = "" } = sent;
  const headers = allHeaders(sent, [
    ["Host", HOSTS.restApi],
    ["User-Agent", "Custom User Agent String"],
    ["X-Amzn-Trace-Id", "Root=1-5e66d96f-7491f09xmpl79d18acf3d050"],
    ["X-Forwarded-For", "52.255.255.12"],
    ["X-Forwarded-Port", "443"],
    ["X-Forwarded-Proto", "https"],
  ]);
  const parameters = [...new URLSearchParams(query)];
  return {
    resource: "/{proxy+}",
    path: path.replace(/^\/[^/]*/, ""),
    httpMethod: method,
    headers: lastValues(headers),
    multiValueHeaders: allValues(headers),
    queryStringParameters: parameters.length === 0 ? null : lastValues(parameters),
    multiValueQueryStringParameters: parameters.length === 0 ? null : allValues(parameters),
    pathParameters: null,
    stageVariables: null,
    requestContext: {
      accountId: "123456789012",
      apiId: "70ixmpl4fl",
      authorizer: null,
      domainName: HOSTS.restApi,
      domainPrefix: "70ixmpl4fl",
      extendedRequestId: "JJbxmplHYosFVYQ=",
      httpMethod: method,
      identity: {
        accessKey: null,
        accountId: null,
        apiKey: null,
        apiKeyId: null,
        caller: null,
        clientCert: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp: "52.255.255.12",
        user: null,
        userAgent: "Custom User Agent String",
        userArn: null,
      },
      path,
      protocol: "HTTP/1.1",
      requestId: "77375676-xmpl-4b79-853a-f982474efe18",
      requestTime: "10/Mar/2020:00:03:59 +0000",
      requestTimeEpoch: 1583798639428,
      resourceId: "2gxmpl",
      resourcePath: "/{proxy+}",
      stage: "Prod",
    },
    ...bodyOf(sent),
  };
}

/** Header names in lower case, repeated values joined, cookies apart, the query as it was written. */
function httpApiEvent(sent: SentRequest): APIGatewayProxyEventV2 {
  return formatV2(sent, {
    routeKey: "ANY /{proxy+}",
    stage: "default",
    host: HOSTS.httpApi,
    path: sent.path ?? "/default/webhook",
  });
}

export function functionUrlEvent(sent: SentRequest): APIGatewayProxyEventV2 {
  return formatV2(sent, {
    routeKey: "$default",
    stage: "$default",
    host: HOSTS.functionUrl,
    path: sent.path ?? "/webhook",
  });
}

function formatV2(
  sent: SentRequest,
  front: { routeKey: string; stage: string; host: string; path: string },
): APIGatewayProxyEventV2 {
  const { method = "POST", query = "" } = sent;
  const headers = allHeaders(sent, [
    ["host", front.host],
    ["x-amzn-trace-id", "Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e"],
    ["x-forwarded-for", "205.255.255.176"],
    ["x-forwarded-port", "443"],
    ["x-forwarded-proto", "https"],
  ]).map(([name, value]) => [name.toLowerCase(), value] as const);
  const cookies = headers.filter(([name]) => name === "cookie").map(([, value]) => value);
  const { body, isBase64Encoded } = bodyOf(sent);
  return {
    version: "2.0",
    routeKey: front.routeKey,
    rawPath: front.path,
    rawQueryString: query,
    ...(cookies.length === 0 ? {} : { cookies: cookies.flatMap((value) => value.split("; ")) }),
    headers: joinedValues(
      headers.filter(([name]) => name !== "cookie"),
      ",",
    ),
    requestContext: {
      accountId: "123456789012",
      apiId: "r3pmxmplak",
      domainName: front.host,
      domainPrefix: "r3pmxmplak",
      http: {
        method,
        path: front.path,
        protocol: "HTTP/1.1",
        sourceIp: "205.255.255.176",
        userAgent: "agent",
      },
      requestId: "JKJaXmPLvHcESHA=",
      routeKey: front.routeKey,
      stage: front.stage,
      time: "10/Mar/2020:05:16:23 +0000",
      timeEpoch: 1583817383220,
    },
    ...(body === null ? {} : { body }),
    isBase64Encoded,
  };
}

/** Header names in lower case, the last value of each, parameters as they were written. */
export function albEvent(sent: SentRequest): ALBEvent {
  return {
    ...albCommon(sent),
    queryStringParameters: lastValues(rawParameters(sent)),
    headers: lastValues(albHeaders(sent)),
  };
}

/** As a load balancer does it when its target group has multi-value headers switched on. */
export function albMultiValueEvent(sent: SentRequest): ALBEvent {
  return {
    ...albCommon(sent),
    multiValueQueryStringParameters: allValues(rawParameters(sent)),
    multiValueHeaders: allValues(albHeaders(sent)),
  };
}

function albCommon(sent: SentRequest): ALBEvent {
  const { body, isBase64Encoded } = bodyOf(sent);
  return {
    requestContext: {
      elb: {
        targetGroupArn:
          "arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/lambda-279XGJDqGZ5rsrHC2Fjr/49e9d65c45c6791a",
      },
    },
    httpMethod: sent.method ?? "POST",
    path: sent.path ?? "/webhook",
    body: body ?? "",
    isBase64Encoded,
  };
}

function albHeaders(sent: SentRequest): [name: string, value: string][] {
  return allHeaders(sent, [
    ["host", HOSTS.loadBalancer],
    ["x-amzn-trace-id", "Root=1-5c536348-3d683b8b04734faae651f476"],
    ["x-forwarded-for", "72.12.164.125"],
    ["x-forwarded-port", "80"],
    ["x-forwarded-proto", "http"],
  ]).map(([name, value]) => [name.toLowerCase(), value]);
}

function rawParameters({ query = "" }: SentRequest): [name: string, value: string][] {
  const pairs = query === "" ? [] : query.split("&");
  return pairs.map((pair) => {
    const [name = "", ...value] = pair.split("=");
    return [name, value.join("=")];
  });
}

function bodyOf({ body, isBase64Encoded = typeof body !== "string" && body !== undefined }: SentRequest): {
  body: string | null;
  isBase64Encoded: boolean;
} {
  if (body === undefined) return { body: null, isBase64Encoded };
  const bytes = Buffer.from(body);
  return { body: bytes.toString(isBase64Encoded ? "base64" : "utf8"), isBase64Encoded };
}

type Pairs = readonly (readonly [name: string, value: string])[];

const allHeaders = ({ headers = [] }: SentRequest, added: Pairs): Pairs => [...headers, ...added];

const lastValues = (pairs: Pairs): Record<string, string> => Object.fromEntries(pairs);

function allValues(pairs: Pairs): Record<string, string[]> {
  const names = new Set(pairs.map(([name]) => name));
  return Object.fromEntries(
    [...names].map((name) => [name, pairs.filter(([other]) => other === name).map(([, value]) => value)]),
  );
}

function joinedValues(pairs: Pairs, separator: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(allValues(pairs)).map(([name, values]) => [name, values.join(separator)]),
  );
}
