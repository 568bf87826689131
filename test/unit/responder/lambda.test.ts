import { describe, expect, test, vi } from "vitest";
import { createResponder, signBody } from "../../../provider/responder/index.js";
import { toLambdaHandler, type LambdaHttpEvent } from "../../../provider/responder/lambda.js";
import {
  albEvent,
  albMultiValueEvent,
  functionUrlEvent,
  restApiEvent,
  type SentRequest,
} from "../../support/lambda-events.ts";

const KEY = "key of the Lambda tests";
const handler = toLambdaHandler(createResponder({ verificationKeys: KEY, onDelivery: () => undefined }));

async function signed(body: string): Promise<SentRequest> {
  return { body, headers: [["X-Hub-Signature-256", await signBody(KEY, body)]] };
}

// The contract (test/contract/lambda.test.ts) tests bodies, handshakes, signatures and limits for every
// trigger.

describe("the response", () => {
  const plain = { statusCode: 401, body: expect.any(String) as string, isBase64Encoded: false };
  const headers = expect.objectContaining({ "content-type": "application/json" }) as object;
  const multiValueHeaders = expect.objectContaining({ "content-type": ["application/json"] }) as object;
  const statusDescription = "401 Unauthorized";

  test.each([
    [restApiEvent, { ...plain, headers }],
    [functionUrlEvent, { ...plain, headers }],
    [albEvent, { ...plain, statusDescription, headers }],
    [albMultiValueEvent, { ...plain, statusDescription, multiValueHeaders }],
  ])("has the form that its trigger expects (%#)", async (toEvent, result) => {
    expect(await handler(toEvent({}))).toEqual(result);
  });

  test("waits for the work passed to waitUntil, even if some of it fails", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const ended: string[] = [];
    const responder = createResponder({
      verificationKeys: KEY,
      onDelivery: (_, { waitUntil }) => {
        const first = async (): Promise<void> => {
          await new Promise((resolve) => setImmediate(resolve));
          ended.push("first");
          waitUntil(Promise.resolve().then(() => void ended.push("second")));
        };
        waitUntil(first());
        waitUntil(Promise.reject(new Error("left behind")));
      },
    });
    const { statusCode } = await toLambdaHandler(responder)(functionUrlEvent(await signed("{}")));
    expect([statusCode, ...ended]).toEqual([200, "first", "second"]);
    expect(report.mock.calls.flat().join("\n")).toContain("left behind");
    report.mockRestore();
  });
});

test("an event that is not an HTTP request is rejected with the list of supported events", async () => {
  const message = { requestContext: { connectionId: "c", eventType: "MESSAGE" }, body: "secret" };
  for (const event of [{ Records: [{ messageId: "1" }] }, message, {}, null, "secret"]) {
    const refusal = handler(event as unknown as LambdaHttpEvent);
    await expect(refusal).rejects.toThrow(
      /^toLambdaHandler: accepts only events of API Gateway .*function URLs/,
    );
  }
});
