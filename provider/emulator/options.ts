import * as z from "zod";
import { ApiChatError } from "../errors.js";

/**
 * How the handshake's three parameters are sent (section 6.1 leaves it open): `form` as a form body, `json` as a JSON
 * body, `query` merged into the query of the webhook URL, with an empty body.
 */
export type HandshakeEncoding = "form" | "json" | "query";

/**
 * What a set-webhook with a failed handshake does (section 3 leaves it open): `keeps` answers 422 and leaves what stood
 * there; `clears` answers 422 and removes what stood there; `unverified` stores the new registration with
 * `webhook_status` `failed` and answers 200.
 */
export type FailedHandshake = "keeps" | "clears" | "unverified";

/**
 * What get-webhook answers for a workspace that never had a webhook (section 4.1 leaves it open): `empty-strings` the
 * four fields as empty strings, as after a removal; `null-fields` the four fields as null; `nulls` `data: null`;
 * `missing` an envelope without `data`; `empty-array` `data: []`; `not-found` HTTP 404.
 */
export type BeforeFirstSet =
  "empty-strings" | "null-fields" | "nulls" | "missing" | "empty-array" | "not-found";

export interface WorkspaceOptions {
  /** Letters, digits, `.`, `_` and `-`. The bot code follows from it, so that it is the same in the next run. */
  name: string;
  /** The API key of the external system. One key may serve many workspaces. */
  apiKey: string;
  /** The last segment of `bot_url`. Default: derived from the name. */
  botCode?: string;
  /** A query that `baseUrl` has of its own, without `?`. Requests without these parameters do not reach the workspace. */
  baseUrlQuery?: string;
  /** The first path segment of `baseUrl`. Default: the name. Workspaces may share it if their API keys differ. */
  path?: string;
}

export interface EmulatorOptions {
  /** Port of the registration interface. Default 0: any free one. */
  port?: number;
  /** Port of the bot host. Default 0: any free one. */
  botPort?: number;
  /** Address to listen on. Default `127.0.0.1`. */
  host?: string;
  /** The workspaces at the start. Default none. */
  workspaces?: WorkspaceOptions[];
  /** Default `form` and 5000 ms. The time limit is for the whole handshake. */
  handshake?: { encoding?: HandshakeEncoding; timeoutMs?: number };
  /** Default `keeps`. */
  failedHandshake?: FailedHandshake;
  /** Default `empty-strings`. */
  beforeFirstSet?: BeforeFirstSet;
  /** Answers show the verification key as `ab********yz`. Default false. */
  maskKey?: boolean;
  /** Answers show the URL with its host in lower case, without default port and trailing slash. Default false. */
  normalizeUrl?: boolean;
  /** The `webhook_status` that set-webhook gives after a good handshake. Default `verified`. */
  statusAfterSet?: string;
  /** After how long another `statusAfterSet` becomes `verified` by itself. Default: never, only by `change()`. */
  verifyAfterMs?: number;
}

/** The options with every default filled in. */
export interface Settings {
  port: number;
  botPort: number;
  host: string;
  handshake: { encoding: HandshakeEncoding; timeoutMs: number };
  failedHandshake: FailedHandshake;
  beforeFirstSet: BeforeFirstSet;
  maskKey: boolean;
  normalizeUrl: boolean;
  statusAfterSet: string;
  verifyAfterMs: number | undefined;
}

const port = z.int().min(0).max(65_535);
const durationMs = z.number().min(0).max(2_147_483_647);
/** What may stand in a path as it is: names of workspaces and bot codes. */
export const pathSegment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, {
  error: "must start with a letter or digit and hold only letters, digits, '.', '_' and '-'",
});
const query = z
  .string()
  .refine(isOwnQuery, { error: "must be like 'tenant=acme', without '?' and without 'action'" });

const workspaceOptions = z.strictObject({
  name: pathSegment,
  apiKey: z.string().min(1),
  botCode: pathSegment.optional(),
  baseUrlQuery: query.optional(),
  path: pathSegment.optional(),
});

const emulatorOptions = z.strictObject({
  port: port.default(0),
  botPort: port.default(0),
  host: z.string().min(1).default("127.0.0.1"),
  workspaces: z.array(workspaceOptions).default([]),
  handshake: z
    .strictObject({
      encoding: z.enum(["form", "json", "query"]).default("form"),
      timeoutMs: durationMs.min(1).default(5000),
    })
    .prefault({}),
  failedHandshake: z.enum(["keeps", "clears", "unverified"]).default("keeps"),
  beforeFirstSet: z
    .enum(["empty-strings", "null-fields", "nulls", "missing", "empty-array", "not-found"])
    .default("empty-strings"),
  maskKey: z.boolean().default(false),
  normalizeUrl: z.boolean().default(false),
  statusAfterSet: z.string().min(1).default("verified"),
  verifyAfterMs: durationMs.optional(),
});

/** The settings and the workspaces that were asked for; throws `invalid_config` naming every option that is wrong. */
export function parseEmulatorOptions(options: EmulatorOptions): {
  settings: Settings;
  workspaces: WorkspaceOptions[];
} {
  const { workspaces, ...rest } = parseOptions("startEmulator", emulatorOptions, options);
  return { settings: { ...rest, verifyAfterMs: rest.verifyAfterMs }, workspaces };
}

/** One workspace's options; throws `invalid_config` naming every option that is wrong. */
export function parseWorkspaceOptions(options: WorkspaceOptions): WorkspaceOptions {
  return parseOptions("addWorkspace", workspaceOptions, options);
}

/** Checks options that a caller gave to `method`. The message names each field and holds none of the values. */
export function parseOptions<T>(method: string, schema: z.ZodType<T>, options: unknown): T {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw invalidOption(`${method}: ${parsed.error.issues.map(describeIssue).join("; ")}`);
}

/** A mistake in how the emulator was called. */
export function invalidOption(message: string, cause?: unknown): ApiChatError {
  return new ApiChatError("invalid_config", message, { operation: "check", cause });
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const field = issue.path.map(String).join(".");
  return field === "" ? issue.message : `${field}: ${issue.message}`;
}

function isOwnQuery(text: string): boolean {
  if (text === "" || /[?#\s]/.test(text)) return false;
  return !new URLSearchParams(text).has("action");
}
