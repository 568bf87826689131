import { toLambdaHandler, type LambdaHttpResult } from "../../provider/responder/lambda.js";
import { lambdaEvents, type SentRequest as SentToAws } from "../support/lambda-events.ts";
import type { LambdaFront } from "./contract-case.ts";
import { describeResponderContract, type ReceivedAnswer, type SentRequest } from "./responder-contract.ts";

/** The triggers that pass every body as base64. The others pass bodies that are text unchanged. */
const BINARY_FRONTS: readonly LambdaFront[] = ["function URL"];

for (const front of Object.keys(lambdaEvents) as LambdaFront[]) {
  describeResponderContract(front, async (responder, request) => {
    const event = lambdaEvents[front](toSentToAws(request, front));
    return toAnswer(await toLambdaHandler(responder)(event));
  });
}

function toSentToAws({ method, target, headers, body }: SentRequest, front: LambdaFront): SentToAws {
  const [path = "", ...query] = target.split("?");
  const sent = { method, path, query: query.join("?"), headers };
  return body.length === 0 ? sent : { ...sent, body: BINARY_FRONTS.includes(front) ? body : textOf(body) };
}

/** Decodes a body if it is valid UTF-8, because events contain such a body as text. */
function textOf(body: Uint8Array): string | Uint8Array {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    // The body is not UTF-8: every trigger passes it as base64.
    return body;
  }
}

function toAnswer({
  statusCode,
  headers,
  multiValueHeaders,
  body,
  isBase64Encoded,
}: LambdaHttpResult): ReceivedAnswer {
  const single = Object.entries(multiValueHeaders ?? {}).map(([name, values]) => [name, values.join(", ")]);
  const named = Object.entries({ ...headers, ...(Object.fromEntries(single) as Record<string, string>) });
  return {
    status: statusCode,
    headers: Object.fromEntries(named.map(([name, value]) => [name.toLowerCase(), value])),
    body: isBase64Encoded ? Buffer.from(body, "base64").toString() : body,
  };
}
