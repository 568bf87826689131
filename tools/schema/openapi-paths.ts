import {
  examplesOf,
  jsonContent,
  refusals,
  tooManyCalls,
  refTo,
  type JsonSchema,
} from "./openapi-components.ts";
import { emptyConfiguration, sampleAddress, samples } from "./samples.ts";

/** The security scheme of the message interface. */
export const flowApiKeyScheme = "flowApiKey";

/** The two interfaces that the service has (sections 4.1 and 4.2). */
export const paths: JsonSchema = {
  "/{workspace}/apichat": { parameters: [workspaceParameter()], post: registrationOperation() },
  "/api/apichat/{bot_code}": {
    servers: [
      {
        url: "https://{bot_host}",
        description:
          "`{bot_base_url}`, the start of `bot_url`. The specification does not say whether its host is another one.",
        variables: { bot_host: { default: "bots.example", description: "The host of `bot_url`." } },
      },
      {
        url: "http://127.0.0.1:4001",
        description: "The bot host of `apichat emulator` on this machine, where --bot-port names no other.",
      },
    ],
    parameters: [botCodeParameter()],
    post: messageOperation(),
  },
};

function workspaceParameter(): JsonSchema {
  return {
    name: "workspace",
    in: "path",
    required: true,
    description:
      "Server and path together are `{base_url}`, which the specification leaves open, and which may have another path " +
      "and a query of its own. This path is the emulator's.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]+$" },
    example: sampleAddress.workspace,
  };
}

function botCodeParameter(): JsonSchema {
  return {
    name: "bot_code",
    in: "path",
    required: true,
    description: "The code unique to the bot. Take the whole address from `bot_url` of the registration.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]+$" },
    example: sampleAddress.botCode,
  };
}

function registrationOperation(): JsonSchema {
  return {
    operationId: "callRegistration",
    summary: "Get, set or remove the webhook of a workspace",
    description:
      "Three operations at one address: the query parameter `action` names the operation, and the body must be the " +
      "one of that operation. OpenAPI tells operations apart by path and method only, so it cannot say which body " +
      "belongs to which action: `GetWebhookRequest` to `get-webhook`, `SetWebhookRequest` to `set-webhook`, " +
      "`DeleteWebhookRequest` to `delete-webhook`.\n\n" +
      "The API key stands in the body, in `ChaveApi`, which no OpenAPI security scheme can express. There is one " +
      "key per external system, for any number of workspaces (sections 1 and 5).\n\n" +
      "`set-webhook` makes the verification handshake with `webhook_url` (the webhook `handshake`) before it " +
      "answers.",
    tags: ["registration"],
    security: [],
    parameters: [
      {
        name: "action",
        in: "query",
        required: true,
        description: "The operation (section 4.1).",
        schema: { type: "string", enum: ["get-webhook", "set-webhook", "delete-webhook"] },
      },
    ],
    requestBody: {
      required: true,
      content: jsonContent(
        refTo("RegistrationRequest"),
        examplesOf({
          "get-webhook": "GetWebhookRequest",
          "set-webhook": "SetWebhookRequest",
          "delete-webhook": "DeleteWebhookRequest",
        }),
      ),
    },
    responses: {
      200: registrationAnswer(),
      ...refusals({
        400: "The body is not JSON.",
        401: "`ChaveApi` is missing, or is not a key of this workspace.",
        404: "There is no workspace at this address, or no such action.",
        413: "The body is larger than 1 MiB.",
        422: "A field is missing, wrong, or one too many; or the handshake with `webhook_url` failed.",
      }),
      429: tooManyCalls,
    },
  };
}

/** What the specification shows first, then what it leaves open and the real service may answer as well. */
function registrationAnswer(): JsonSchema {
  const shown: JsonSchema = {
    title: "As the specification shows it",
    type: "object",
    properties: {
      status: { description: "`ok` on success (section 2.2).", type: "string", const: "ok" },
      data: refTo("WebhookConfiguration"),
    },
    required: ["status", "data"],
  };
  return {
    description:
      "The registration (sections 2.1 and 2.2); all four fields are empty strings after `delete-webhook`. What " +
      "`get-webhook` answers for a workspace that never had a webhook is not in the specification. A `status` other " +
      "than `ok` is no success, whatever the HTTP status.",
    content: jsonContent(
      { anyOf: [shown, refTo("RegistrationEnvelope")] },
      {
        registered: { summary: "After set-webhook", value: samples.RegistrationEnvelope },
        removed: { summary: "After delete-webhook", value: { status: "ok", data: emptyConfiguration } },
      },
    ),
  };
}

function messageOperation(): JsonSchema {
  return {
    operationId: "sendMessage",
    summary: "Send a contact's message",
    description:
      "The six operations of section 4.2, told apart by the body. `webhook_url` receives the replies (the webhook " +
      "`delivery`). There is no key that makes a repeated request harmless: a message sent twice is two messages.",
    tags: ["messages"],
    security: [{ [flowApiKeyScheme]: [] }],
    requestBody: {
      required: true,
      content: jsonContent(
        refTo("InboundMessage"),
        examplesOf({
          text: "InboundTextMessage",
          button: "InboundButtonMessage",
          image: "InboundImageMessage",
          audio: "InboundAudioMessage",
          video: "InboundVideoMessage",
          file: "InboundFileMessage",
        }),
      ),
    },
    responses: {
      "2XX": {
        description: "The message was taken. Status and body are not in the specification: take any 2xx.",
        content: jsonContent({ description: "Any JSON." }),
      },
      ...refusals({
        400: "The body is not JSON.",
        401: "The flow API key is missing or wrong.",
        403: 'The flow API key lacks the permission "Gerenciar Fluxo".',
        404: "There is no bot at this address.",
        413: "The body is larger than 1 MiB.",
        422: "A field is missing, wrong, or one too many.",
      }),
      429: tooManyCalls,
    },
  };
}
