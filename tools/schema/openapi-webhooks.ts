import { examplesOf, jsonContent, refTo, type JsonSchema } from "./openapi-components.ts";
import { samples } from "./samples.ts";

/** What the endpoint at `webhook_url` must take (section 4.3). */
export const webhooks: JsonSchema = {
  handshake: { post: handshakeOperation() },
  delivery: { post: deliveryOperation() },
};

function handshakeOperation(): JsonSchema {
  const { hub_challenge } = samples.HandshakeParameters;
  const examples = examplesOf({ handshake: "HandshakeParameters" });
  return {
    operationId: "answerHandshake",
    summary: "Answer the verification handshake",
    description:
      "Sent to `webhook_url` during `set-webhook` (section 6.1). Check that `hub_verify_token` is the verification " +
      "key, then answer with `hub_challenge` as the whole body. How the three parameters travel is not in the " +
      "specification: as a form, as JSON, as a multipart form, or in the query of `webhook_url` with an empty body. " +
      "Take all of them.",
    tags: ["webhook"],
    security: [],
    parameters: Object.keys(samples.HandshakeParameters).map((name) => ({
      name,
      in: "query",
      description: "Where the parameters travel in the query: then all three stand there.",
      schema: { $ref: `#/components/schemas/HandshakeParameters/properties/${name}` },
    })),
    requestBody: {
      required: false,
      content: {
        "application/x-www-form-urlencoded": { schema: refTo("HandshakeParameters"), examples },
        ...jsonContent(refTo("HandshakeParameters"), examples),
        "multipart/form-data": { schema: refTo("HandshakeParameters"), examples },
      },
    },
    responses: {
      200: {
        description: "The challenge, and nothing else. The content type is not in the specification.",
        content: { "text/plain": { schema: { type: "string" }, example: hub_challenge } },
      },
      "4XX": { description: "The token is not the verification key: `set-webhook` does not verify the URL." },
    },
  };
}

function deliveryOperation(): JsonSchema {
  return {
    operationId: "takeDelivery",
    summary: "Take a reply of the flow or an agent",
    description:
      "Sent to `webhook_url` when the flow or an agent writes in a conversation (section 6.2). Check the signature " +
      "over the raw body before you parse it. `OutboundMessage` is what the specification shows; a service may write " +
      "null, `[]`, numbers or URLs otherwise, and `ReceivedOutbound` is what this package takes. What the service " +
      "expects as an answer, and whether it tries again, is not in the specification: answer any 2xx at once, and be " +
      "ready for the same delivery twice.",
    tags: ["webhook"],
    security: [],
    parameters: [
      header(
        "X-Hub-Signature-256",
        "`sha256=` and the HMAC-SHA-256 of the raw body in lower-case hex; the key is the verification key (section 5).",
        { type: "string", pattern: "^sha256=[0-9a-f]{64}$" },
      ),
      header("x-flow-ns", "The namespace identifier of the bot's flow.", { type: "string" }),
      header("x-action", "The type of the webhook action.", { type: "string", const: "messages" }),
    ],
    requestBody: {
      required: true,
      content: jsonContent(
        { anyOf: [refTo("OutboundMessage"), refTo("ReceivedOutbound")] },
        examplesOf({
          text: "OutboundText",
          image: "OutboundImage",
          audio: "OutboundAudio",
          video: "OutboundVideo",
          file: "OutboundFile",
          button_template: "OutboundButtonTemplate",
          generic_template: "OutboundGenericTemplate",
        }),
      ),
    },
    responses: {
      "2XX": { description: "Taken." },
      "4XX": { description: "The signature or the body is wrong." },
    },
  };
}

function header(name: string, description: string, schema: JsonSchema): JsonSchema {
  return { name, in: "header", required: true, description, schema };
}
