import * as z from "zod";
import { kindOf } from "../resource/checks.js";
import { expected } from "../lib/validate.js";

const keySource = z.union(
  [z.string(), z.strictObject({ file: z.string().min(1) }), z.strictObject({ env: z.string().min(1) })],
  {
    // Nothing of what was given is shown: it may be a key in the wrong place.
    error: ({ input }) =>
      `must be a key, { "file": "/run/secrets/key" } or { "env": "NAME" }, got ${kindOf(input)}`,
  },
);

const keysError: z.core.$ZodErrorMap = ({ input }) =>
  `must be a key or a list of at least one, got ${Array.isArray(input) ? describeList(input) : kindOf(input)}; each is a text, { "file": "/run/secrets/key" } or { "env": "NAME" }`;

const path = z.string({ error: expected("a path", 'write for example "/acme"') }).regex(/^\/[^?#\s]*$/, {
  error: expected('a path that starts with "/" and has no query', 'write for example "/acme"'),
});

const count = (example: number): z.ZodInt =>
  z
    .int({ error: expected("a whole number", `write for example ${example}`) })
    .min(1, { error: expected("at least 1", `write for example ${example}`) });

const workspaceShape = z.strictObject(
  {
    verificationKeys: z.union([keySource, z.array(keySource).min(1, { error: keysError })], {
      error: keysError,
    }),
    path: path.optional(),
    forwardTo: z
      .string({ error: expected("a URL", 'write for example "http://127.0.0.1:3000/"') })
      .optional(),
  },
  { error: fields("verificationKeys, path, forwardTo") },
);

const portError = expected(
  "a whole number from 0 to 65535",
  "write for example 8080, or 0 for any free port",
);

/** The shape of the file; what its values must be together is checked by the reader. */
export const fileShape = z.strictObject(
  {
    host: z
      .string({ error: expected("a host name or address", 'write for example "127.0.0.1"') })
      .min(1, { error: expected("a host name or address", 'write for example "127.0.0.1"') })
      .default("127.0.0.1"),
    port: z.int({ error: portError }).min(0, { error: portError }).max(65_535, { error: portError }),
    dataDir: z
      .string({ error: expected("a folder", 'write for example "/var/lib/apichat"') })
      .min(1, { error: expected("a folder", 'write for example "/var/lib/apichat"') }),
    workspaces: z.record(z.string(), workspaceShape, {
      error: expected(
        "an object of workspaces by name",
        'write for example { "acme": { "verificationKeys": … } }',
      ),
    }),
    forwardWithinSeconds: count(86_400).optional(),
    bodyLimitBytes: count(1_048_576).optional(),
    healthPath: path.optional(),
  },
  { error: fields("host, port, dataDir, workspaces, forwardWithinSeconds, bodyLimitBytes, healthPath") },
);

/** A configuration as its file has it: keys may be references, paths may be left out. */
export interface FileConfig extends z.infer<typeof fileShape> {}

const partialWorkspace = z
  .object({
    verificationKeys: workspaceShape.shape.verificationKeys.optional().catch(undefined),
    path: workspaceShape.shape.path.catch(undefined),
    forwardTo: workspaceShape.shape.forwardTo.catch(undefined),
  })
  .catch({});

/** Takes out of anything the fields of a configuration that have their shape, so that they can be checked further. */
export const soundParts = z
  .object({
    host: fileShape.shape.host.catch("127.0.0.1"),
    port: fileShape.shape.port.optional().catch(undefined),
    workspaces: z.record(z.string(), partialWorkspace).optional().catch(undefined),
    healthPath: fileShape.shape.healthPath.catch(undefined),
  })
  .catch({ host: "127.0.0.1" });

/** What {@link soundParts} gives. */
export interface SoundParts extends z.infer<typeof soundParts> {}

function fields(known: string): z.core.$ZodErrorMap {
  return (issue) =>
    issue.code === "unrecognized_keys"
      ? `no such field: ${issue.keys.join(", ")}; the fields are ${known}`
      : `must be an object with ${known}, got ${kindOf(issue.input)}`;
}

const describeList = (list: readonly unknown[]): string =>
  list.length === 0 ? "an empty list" : `a list of ${list.map(kindOf).join(", ")}`;
