import type {
  ALBHandler,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  LambdaFunctionURLHandler,
} from "aws-lambda";
import { describe, expect, test, vi } from "vitest";
import { createResponder, signBody, type RequestHead } from "../../../provider/responder/index.js";
import {
  toLambdaHandler,
  type LambdaHttpEvent,
  type LambdaHttpResult,
} from "../../../provider/responder/lambda.js";
import {
  albEvent,
  albMultiValueEvent,
  functionUrlEvent,
  lambdaEvents,
  restApiEvent,
  type SentRequest,
} from "../../support/lambda-events.ts";

const KEY = "key of the Lambda tests";
// What a UTF-8 decoder and encoder would change, and what PHP writes.
const BYTES = Buffer.concat([
  Buffer.from('{"text":"\\u00e9\\/ é 🙂","junk":"'),
  Buffer.from([0xff, 0xfe]),
  Buffer.from('"}'),
]);

const shapes = Object.entries(lambdaEvents);

interface Received {
  rawBody: Uint8Array;
  request: RequestHead;
}

/** A handler that notes what arrives at `onDelivery`. */
function createHandler(options: { bodyLimitBytes?: number; path?: string } = {}) {
  const received: Received[] = [];
  const responder = createResponder({
    ...options,
    verificationKeys: KEY,
    onDelivery: ({ rawBody }, { request }) => void received.push({ rawBody, request }),
  });
  return { handler: toLambdaHandler(responder), received };
}

async function signed(body: string | Uint8Array, sent: SentRequest = {}): Promise<SentRequest> {
  const signature = ["X-Hub-Signature-256", await signBody(KEY, body)] as const;
  return { ...sent, body, headers: [signature, ...(sent.headers ?? [])] };
}

const codeOf = ({ body }: LambdaHttpResult): unknown => JSON.parse(body).error.code;

describe.each(shapes)("An event of a %s", (_, toEvent) => {
  test("brings a delivery's bytes as they were sent, whether AWS hands them over as base64 or as text", async () => {
    const { handler, received } = createHandler();
    const text = '{"text":"\\u00e9\\/ é 🙂"}';
    for (const sent of [await signed(BYTES), await signed(text)]) {
      expect(await handler(toEvent(sent))).toMatchObject({
        statusCode: 200,
        body: "",
        isBase64Encoded: false,
      });
    }
    expect(received.map(({ rawBody }) => Buffer.from(rawBody))).toEqual([BYTES, Buffer.from(text)]);
  });

  test("brings a handshake in its form, and the challenge goes back as text", async () => {
    const { handler } = createHandler();
    const body = new URLSearchParams({
      hub_mode: "subscribe",
      hub_verify_token: KEY,
      hub_challenge: "<c 1>",
    });
    const headers = [["Content-Type", "application/x-www-form-urlencoded"]] as const;
    const result = await handler(toEvent({ body: body.toString(), headers }));
    expect(result).toMatchObject({ statusCode: 200, body: "<c 1>", isBase64Encoded: false });
    const values = result.headers ?? result.multiValueHeaders;
    expect([values?.["content-type"]].flat()).toEqual(["text/plain; charset=utf-8"]);
  });

  test("brings a handshake in its query, with what had to be encoded", async () => {
    const { handler } = createHandler();
    const parameters = { hub_mode: "subscribe", hub_verify_token: KEY, hub_challenge: "50% +&=/ é" };
    const query = `own=1&${new URLSearchParams(parameters).toString()}`;
    expect(await handler(toEvent({ query }))).toMatchObject({ statusCode: 400 });
    const plain = query.replace(/hub_challenge=.*/, "hub_challenge=50%25+%2B%26%3D");
    expect(await handler(toEvent({ query: plain }))).toMatchObject({ statusCode: 200, body: "50% +&=" });
  });

  test("has the method, the path of the webhook URL, and headers whose names have any case", async () => {
    const { handler, received } = createHandler({ path: "/live/webhook" });
    const sent = await signed("{}", { path: "/live/webhook", query: "a=1", headers: [["X-Flow-NS", "f1"]] });
    expect(await handler(toEvent(sent))).toMatchObject({ statusCode: 200 });
    const [request] = received.map((one) => one.request);
    expect(request).toMatchObject({ method: "POST", url: "/live/webhook?a=1" });
    expect(request?.header("x-flow-ns")).toBe("f1");
    expect(codeOf(await handler(toEvent({ ...sent, path: "/live/other" })))).toBe("not_found");
    expect(codeOf(await handler(toEvent({ ...sent, method: "GET" })))).toBe("method_not_allowed");
  });

  test("may have no body", async () => {
    const { handler } = createHandler();
    expect(codeOf(await handler(toEvent({})))).toBe("invalid_signature");
    expect(await handler(toEvent(await signed("")))).toMatchObject({ statusCode: 400 });
  });

  test("is refused with 413 when its body is over the limit by one byte, as base64 and as text", async () => {
    const { handler } = createHandler({ bodyLimitBytes: 8 });
    for (const isBase64Encoded of [true, false]) {
      const fits = await signed('{"é":1}', { isBase64Encoded });
      const isOver = await signed('{"é":12}', { isBase64Encoded });
      expect(await handler(toEvent(fits))).toMatchObject({ statusCode: 200 });
      expect(codeOf(await handler(toEvent(isOver)))).toBe("body_too_large");
    }
  });
});

describe("Repeated headers", () => {
  const repeated = {
    headers: [
      ["X-Twice", "1"],
      ["X-Twice", "2"],
    ],
  } as const;

  test.each([
    ["REST API", "1, 2"],
    ["HTTP API", "1,2"],
    ["function URL", "1,2"],
    ["load balancer", "2"],
    ["load balancer with multi-value headers", "1, 2"],
  ] as const)("of a %s: %s, as far as its event tells", async (shape, value) => {
    const { handler, received } = createHandler();
    await handler(lambdaEvents[shape](await signed("{}", repeated)));
    expect(received[0]?.request.header("x-twice")).toBe(value);
  });

  test("are kept apart, in the sender's case, where the event has them so", async () => {
    const { handler, received } = createHandler();
    await handler(restApiEvent(await signed("{}", repeated)));
    const pairs = [...(received[0]?.request.headers() ?? [])];
    expect(pairs).toEqual(
      expect.arrayContaining([
        ["X-Twice", "1"],
        ["X-Twice", "2"],
      ]),
    );
  });

  test("two signatures are none", async () => {
    const { handler } = createHandler();
    const sent = await signed("{}");
    const twice = { ...sent, headers: [...(sent.headers ?? []), ...(sent.headers ?? [])] };
    expect(codeOf(await handler(restApiEvent(twice)))).toBe("invalid_signature");
    expect(codeOf(await handler(albMultiValueEvent(twice)))).toBe("invalid_signature");
  });

  test("cookies of format 2.0 stand among the headers", async () => {
    const { handler, received } = createHandler();
    await handler(functionUrlEvent(await signed("{}", { headers: [["Cookie", "a=1; b=2"]] })));
    expect(received[0]?.request.header("cookie")).toBe("a=1; b=2");
  });
});

describe("The answer", () => {
  test("to API Gateway and function URLs has single headers and no description", async () => {
    const { handler } = createHandler();
    for (const event of [restApiEvent({}), functionUrlEvent({})]) {
      const result = await handler(event);
      expect(Object.keys(result).toSorted()).toEqual(["body", "headers", "isBase64Encoded", "statusCode"]);
      expect(result.headers).toMatchObject({ "content-type": "application/json" });
    }
  });

  test("to a load balancer has a description, and multi-value headers where it sent them", async () => {
    const { handler } = createHandler();
    expect(await handler(albEvent({}))).toMatchObject({
      statusDescription: "401 Unauthorized",
      headers: { "content-type": "application/json" },
    });
    const result = await handler(albMultiValueEvent({}));
    expect(result).toMatchObject({
      statusDescription: "401 Unauthorized",
      multiValueHeaders: { "content-type": ["application/json"] },
    });
    expect(result).not.toHaveProperty("headers");
  });

  test("comes when the work that was given to waitUntil has ended, and work that it left", async () => {
    const ended: string[] = [];
    const responder = createResponder({
      verificationKeys: KEY,
      onDelivery: (_, { waitUntil }) => {
        const first = new Promise<void>((resolve) => {
          setTimeout(() => {
            ended.push("first");
            waitUntil(Promise.resolve().then(() => void ended.push("second")));
            resolve();
          }, 20);
        });
        waitUntil(first);
      },
    });
    const result = await toLambdaHandler(responder)(functionUrlEvent(await signed("{}")));
    expect(result.statusCode).toBe(200);
    expect(ended).toEqual(["first", "second"]);
  });

  test("is 200 also when that work fails, which is reported", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const responder = createResponder({
      verificationKeys: KEY,
      onDelivery: (_, { waitUntil }) => waitUntil(Promise.reject(new Error("left behind"))),
    });
    const result = await toLambdaHandler(responder)(functionUrlEvent(await signed("{}")));
    expect(result.statusCode).toBe(200);
    expect(report.mock.calls.flat().join("\n")).toContain("left behind");
    report.mockRestore();
  });
});

describe("An event that is no HTTP request", () => {
  const { handler } = createHandler();

  test.each([
    ["a queue's", { Records: [{ messageId: "1", body: "secret" }] }, "has Records;"],
    [
      "a WebSocket's",
      { requestContext: { connectionId: "c", eventType: "MESSAGE" }, body: "secret" },
      "requestContext, body",
    ],
    [
      "VPC Lattice's",
      { version: "2.0", path: "/", method: "POST", requestContext: { serviceArn: "a" } },
      "version, path",
    ],
    ["an empty one", {}, "no fields"],
    ["none", null, "no fields"],
    ["text", "secret", "no fields"],
  ])("is refused with what it has and what is taken: %s", async (_, event, text) => {
    const refusal = handler(event as unknown as LambdaHttpEvent);
    await expect(refusal).rejects.toThrow(TypeError);
    await expect(refusal).rejects.toThrow(text);
    await expect(refusal).rejects.toThrow(/function URLs/);
    await expect(refusal).rejects.not.toThrow(/secret/);
  });
});

test("The handler is what the types of @types/aws-lambda ask for", () => {
  const { handler } = createHandler();
  const restApi: APIGatewayProxyHandler = handler;
  const httpApi: APIGatewayProxyHandlerV2 = handler;
  const functionUrl: LambdaFunctionURLHandler = handler;
  const loadBalancer: ALBHandler = handler;
  // The compiler is the judge; a handler with a third parameter would be called with a callback.
  expect([restApi, httpApi, functionUrl, loadBalancer].map(({ length }) => length)).toEqual([1, 1, 1, 1]);
});
