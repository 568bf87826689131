import * as TJS from "typescript-json-schema";
import { clone, inClone } from "../lib/clone.ts";

/** One generated file, and the type that it describes. */
interface SchemaFile {
  file: string;
  type: string;
  /** Requests reject unknown fields. Everything that the service sends may have additional fields. */
  strict: boolean;
}

/** Every file except `schema/openapi.json`. */
export const schemaFiles: readonly SchemaFile[] = [
  { file: "registration-requests.schema.json", type: "RegistrationRequest", strict: true },
  { file: "registration-envelope.schema.json", type: "RegistrationEnvelope", strict: false },
  { file: "webhook-configuration.schema.json", type: "WebhookConfiguration", strict: false },
  { file: "handshake.schema.json", type: "HandshakeParameters", strict: false },
  { file: "inbound.schema.json", type: "InboundMessage", strict: true },
  { file: "outbound.schema.json", type: "OutboundMessage", strict: false },
];

/** Not with module nodenext, which would make the names of the schemas' definitions long. */
const compilerOptions = {
  strict: true,
  target: "es2023",
  lib: ["es2023"],
  types: ["node"],
  module: "esnext",
  moduleResolution: "bundler",
  skipLibCheck: true,
};

/** Generates every `schema/*.schema.json` from the types, as a map keyed by file name. Takes a few seconds. */
export function generateJsonSchemas(): Map<string, string> {
  const program = TJS.getProgramFromFiles([inClone("schema/index.ts")], compilerOptions, clone);
  const [strictly, tolerantly] = [true, false].map((noExtraProps) =>
    TJS.buildGenerator(program, { required: true, noExtraProps }),
  );
  if (!strictly || !tolerantly) throw new Error("schema/ does not compile; run: npm run build");
  return new Map(
    schemaFiles.map(({ file, type, strict }) => [
      file,
      format((strict ? strictly : tolerantly).getSchemaForSymbol(type)),
    ]),
  );
}

function format(definition: TJS.Definition): string {
  const { $schema, description, ...rest } = definition;
  const $comment = "Generated from the zod schemas by tools/schema/generate.ts. Do not edit.";
  return `${JSON.stringify({ $schema, $comment, description, ...rest }, unwrapDescription, 2)}\n`;
}

/** Joins the lines of a description: in the doc comment that it comes from, line breaks only wrap the text. */
function unwrapDescription(key: string, value: unknown): unknown {
  return key === "description" && typeof value === "string" ? value.replaceAll("\n", " ") : value;
}
