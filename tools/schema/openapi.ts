import { VERSION } from "../../provider/lib/version.ts";
import { listComponents, type JsonSchema } from "./openapi-components.ts";
import { flowApiKeyScheme, paths } from "./openapi-paths.ts";
import { webhooks } from "./openapi-webhooks.ts";

/** The file's name in schema/. */
export const openApiFile = "openapi.json";

const info: JsonSchema = {
  title: "API Channel",
  version: VERSION,
  summary: "Registration of webhooks, messages of contacts, and replies to them",
  description:
    "Connects the chat of an external system to a messaging and automation platform. The section numbers are those " +
    "of the API Channel Integration Service Specification, which has no version (section 9): this one is that of " +
    "pulumi-apichat. It shows no error shapes, statuses or limits: where one " +
    "stands here, it is how the emulator of pulumi-apichat reads the gap. Methods other than POST get 405 there.",
  license: { name: "MIT", identifier: "MIT" },
};

const servers: JsonSchema[] = [
  {
    url: "https://{host}",
    description:
      "An example of where the registration interface may be: the specification writes its whole address as " +
      "`{base_url}`, and shows neither host nor path.",
    variables: { host: { default: "platform.example", description: "The host of your `{base_url}`." } },
  },
  {
    url: "http://127.0.0.1:4000",
    description:
      "The registration interface of `apichat emulator` on this machine, where --port names no other.",
  },
];

const tags: JsonSchema[] = [
  { name: "registration", description: "The webhook of a workspace (section 4.1)." },
  { name: "messages", description: "What contacts say (section 4.2)." },
  { name: "webhook", description: "What the service sends to `webhook_url` (sections 4.3 and 6)." },
];

const securitySchemes: JsonSchema = {
  [flowApiKeyScheme]: {
    type: "http",
    scheme: "bearer",
    description:
      'The API key of the flow, with the permission "Gerenciar Fluxo" (section 5). How it is presented is not in the ' +
      "specification: a bearer token is a guess, which the emulator shares.",
  },
};

/** The text of schema/openapi.json (OpenAPI 3.1), made from the generated JSON Schemas by file name. */
export function generateOpenApi(jsonSchemas: ReadonlyMap<string, string>): string {
  const document = {
    openapi: "3.1.0",
    "x-comment": "Generated from the zod schemas by tools/schema/generate.ts. Do not edit.",
    info,
    servers,
    tags,
    paths,
    webhooks,
    components: { securitySchemes, schemas: listComponents(jsonSchemas) },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
