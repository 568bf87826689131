import * as z from "zod";
import { faultRule } from "./faults.js";
import type { Flow } from "./flows/flows.js";
import { FLOW_NAMES } from "./names.js";
import { switches } from "./open-point-options.js";

/** A name that needs no encoding in a path. */
const pathSegment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, {
  error: "must start with a letter or digit and contain only letters, digits, '.', '_' and '-'",
});

const port = z.int().min(0).max(65_535);
const query = z
  .string()
  .refine(isOwnQuery, { error: "must be like 'tenant=acme', without '?' and without 'action'" });

const flow = z.union([z.enum(FLOW_NAMES), z.custom<Flow>((value) => typeof value === "function")], {
  error: `must be ${FLOW_NAMES.join(", ")} or a function`,
});

const flowApiKey = z.string().regex(/^[\x21-\x7e]+$/, {
  error: "must contain visible ASCII characters only: it is sent in a header",
});

/** A webhook to register without a handshake. */
export const registrationFields = z.strictObject({
  /** The registered address. */
  webhook_url: z.string().min(1),
  /** The key that signs deliveries. */
  webhook_verification_key: z.string().min(1),
});

export const workspaceOptions = z.strictObject({
  /** Letters, digits, `.`, `_` and `-`. The bot code is derived from the name, so it is the same in every run. */
  name: pathSegment,
  /** The API key of the external system. Workspaces may share one. */
  apiKey: z.string().min(1),
  /** The last segment of `bot_url`. Default: derived from the name. */
  botCode: pathSegment.optional(),
  /** A query for `baseUrl`, without `?`. Requests without these parameters do not reach the workspace. */
  baseUrlQuery: query.optional(),
  /** The first path segment of `baseUrl`. Default: the name. Workspaces may share it if their API keys differ. */
  path: pathSegment.optional(),
  /** The API key of the flow (section 5), for messages on `bot_url`. Default: derived from the name. */
  flowApiKey: flowApiKey.optional(),
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). Default true. */
  mayManageFlow: z.boolean().optional(),
  /** The name of a built-in flow, or a function. Default: the emulator's `flow`. */
  flow: flow.optional(),
  /** A webhook that is registered and `verified` from the start, without a handshake. Default: none. */
  registration: registrationFields.optional(),
});

/** One workspace: its name, its keys, its flow, and what is registered at the start. */
export interface WorkspaceOptions extends z.input<typeof workspaceOptions> {}

export const emulatorOptions = z.strictObject({
  /** Port of the registration interface, the control API and the page. Default 0: any free port. */
  port: port.default(0),
  /** Port of the bot host. Default 0: any free port. */
  botPort: port.default(0),
  /** Address to listen on. Default `127.0.0.1`. An address that is not loopback needs a `token`. */
  host: z.string().min(1).default("127.0.0.1"),
  /**
   * The bearer token of the control API and the page (RFC 6750: letters, digits, `.`, `_`, `~`, `+`, `/`,
   * `-`). Default: none, which is allowed only on a loopback address.
   */
  token: z
    .string()
    .regex(/^[A-Za-z0-9._~+/-]+=*$/, {
      error:
        "must contain only letters, digits, '.', '_', '~', '+', '/' and '-', as a bearer token (RFC 6750)",
    })
    .optional(),
  /** The initial workspaces. Default: none. */
  workspaces: z.array(workspaceOptions).default([]),
  /** The flow of workspaces that set none. Default `echo`. */
  flow: flow.default("echo"),
  /** The initial faults. Default: none. */
  faults: z.array(faultRule).default([]),
  ...switches,
});

/** Where the emulator listens, its workspaces, and its readings of the specification's open points. */
export interface EmulatorOptions extends z.input<typeof emulatorOptions> {}

/** The options with every default filled in. */
export type Settings = z.output<typeof emulatorOptions>;

function isOwnQuery(text: string): boolean {
  if (text === "" || /[?#\s]/.test(text)) return false;
  return !new URLSearchParams(text).has("action");
}
