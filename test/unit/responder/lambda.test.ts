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
/** A handler that notes what arrives at `onDelivery`. */
function createHandler(options: { bodyLimitBytes?: number; path?: string } = {}) {
  const received: RequestHead[] = [];
  const responder = createResponder({
    ...options,
    verificationKeys: KEY,
    onDelivery: (_, { request }) => void received.push(request),
  });
  return { handler: toLambdaHandler(responder), received };
}

async function signed(body: string | Uint8Array, sent: SentRequest = {}): Promise<SentRequest> {
  const signature = ["X-Hub-Signature-256", await signBody(KEY, body)] as const;
  return { ...sent, body, headers: [signature, ...(sent.headers ?? [])] };
}

const codeOf = ({ body }: LambdaHttpResult): unknown => JSON.parse(body).error.code;

// Bodies, handshakes, signatures and limits of every front are in the contract (test/contract/lambda.test.ts).

test.each(Object.entries(lambdaEvents))(
  "An event of a %s is judged by the path of the webhook URL, and brings headers and target",
  async (_, toEvent) => {
    const { handler, received } = createHandler({ path: "/live/webhook" });
    const sent = await signed("{}", { path: "/live/webhook", query: "a=1", headers: [["X-Flow-NS", "f1"]] });
    expect(await handler(toEvent(sent))).toMatchObject({ statusCode: 200, body: "", isBase64Encoded: false });
    const [request] = received;
    expect(request).toMatchObject({ method: "POST", url: "/live/webhook?a=1" });
    expect(request?.header("x-flow-ns")).toBe("f1");
    expect(codeOf(await handler(toEvent({ ...sent, path: "/live/other" })))).toBe("not_found");
  },
);

test.each([true, false])(
  "A body is measured in its own bytes, isBase64Encoded %j",
  async (isBase64Encoded) => {
    const { handler } = createHandler({ bodyLimitBytes: 8 });
    expect(await handler(restApiEvent(await signed('{"é":1}', { isBase64Encoded })))).toMatchObject({
      statusCode: 200,
    });
    expect(codeOf(await handler(restApiEvent(await signed('{"é":12}', { isBase64Encoded }))))).toBe(
      "body_too_large",
    );
  },
);

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
    expect(received[0]?.header("x-twice")).toBe(value);
  });

  test("are kept apart, in the sender's case, where the event has them so", async () => {
    const { handler, received } = createHandler();
    await handler(restApiEvent(await signed("{}", repeated)));
    const pairs = [...(received[0]?.headers() ?? [])];
    expect(pairs).toEqual(
      expect.arrayContaining([
        ["X-Twice", "1"],
        ["X-Twice", "2"],
      ]),
    );
  });

  test("cookies of format 2.0 stand among the headers", async () => {
    const { handler, received } = createHandler();
    await handler(functionUrlEvent(await signed("{}", { headers: [["Cookie", "a=1; b=2"]] })));
    expect(received[0]?.header("cookie")).toBe("a=1; b=2");
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
