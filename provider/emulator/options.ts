import * as z from "zod";
import { faultRule } from "./faults.js";
import type { Flow } from "./flows/flow.js";
import type { Scenario } from "./flows/scenario.js";
import { switches } from "./switches.js";

/** What may stand in a path as it is: names of workspaces and bot codes. */
export const pathSegment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, {
  error: "must start with a letter or digit and hold only letters, digits, '.', '_' and '-'",
});

const port = z.int().min(0).max(65_535);
const query = z
  .string()
  .refine(isOwnQuery, { error: "must be like 'tenant=acme', without '?' and without 'action'" });

const flow = z.union([z.string().min(1), z.custom<Flow>((value) => typeof value === "function")], {
  error: "must be the name of a flow or a function",
});

/** What can stand in a header as it is. */
export const flowApiKey = z.string().regex(/^[\x21-\x7e]+$/, {
  error: "must hold visible ASCII characters only: it is sent in a header",
});

/** A registration that no handshake was made for. */
export const registrationFields = z.strictObject({
  webhook_url: z.string().min(1),
  webhook_verification_key: z.string().min(1),
});

export const workspaceOptions = z.strictObject({
  /** Letters, digits, `.`, `_` and `-`. The bot code follows from it, so that it is the same in the next run. */
  name: pathSegment,
  /** The API key of the external system. One key may serve many workspaces. */
  apiKey: z.string().min(1),
  /** The last segment of `bot_url`. Default: derived from the name. */
  botCode: pathSegment.optional(),
  /** A query that `baseUrl` has of its own, without `?`. Requests without these parameters do not reach the workspace. */
  baseUrlQuery: query.optional(),
  /** The first path segment of `baseUrl`. Default: the name. Workspaces may share it if their API keys differ. */
  path: pathSegment.optional(),
  /** The API key of the flow (section 5), for messages on `bot_url`. Default: derived from the name. */
  flowApiKey: flowApiKey.optional(),
  /** Whether the flow API key has the permission "Gerenciar Fluxo" (section 5). Default true. */
  mayManageFlow: z.boolean().optional(),
  /** What replies: the name of a flow or scenario, or a function. Default: that of the emulator. */
  flow: flow.optional(),
  /** Registered and `verified` from the start, without a handshake. Default: nothing is registered. */
  registration: registrationFields.optional(),
});

export interface WorkspaceOptions extends z.input<typeof workspaceOptions> {}

/** What a scenario holds is checked where the flows are made, with the scenario's name in the message. */
const namedFlow = z.custom<Scenario | Flow>(
  (value) => typeof value === "function" || (typeof value === "object" && value !== null),
  { error: "must be a scenario or a function" },
);

export const emulatorOptions = z.strictObject({
  /** Port of the registration interface, the control API and the page. Default 0: any free one. */
  port: port.default(0),
  /** Port of the bot host. Default 0: any free one. */
  botPort: port.default(0),
  /** Address to listen on. Default `127.0.0.1`. Any other needs a `token`. */
  host: z.string().min(1).default("127.0.0.1"),
  /**
   * Asked for by the control API and the page, as a bearer token (RFC 6750: letters, digits, `.`, `_`, `~`, `+`, `/`, `-`).
   * Default: none, which only an address of this machine allows.
   */
  token: z
    .string()
    .regex(/^[A-Za-z0-9._~+/-]+=*$/, {
      error: "must hold only letters, digits, '.', '_', '~', '+', '/' and '-', as a bearer token (RFC 6750)",
    })
    .optional(),
  /** The workspaces at the start. One that `data` holds already stays as it is there. Default none. */
  workspaces: z.array(workspaceOptions).default([]),
  /** The flow of workspaces that name none. Default `echo`. */
  flow: flow.default("echo"),
  /** Flows beside the built-in ones, by name: a scenario, or a function. */
  flows: z.record(z.string().min(1), namedFlow).default({}),
  /** File (SQLite) that keeps the state between runs; made if it is missing. Default: in memory. */
  data: z.string().min(1).optional(),
  /** Faults at the start. Default none. */
  faults: z.array(faultRule).default([]),
  ...switches,
});

export interface EmulatorOptions extends z.input<typeof emulatorOptions> {}

/** The options with every default filled in. */
export type EmulatorSettings = z.output<typeof emulatorOptions>;

/** The same, the flow by its name. */
export interface Settings extends EmulatorSettings {
  /** The name of the flow of workspaces that name none. */
  flow: string;
}

function isOwnQuery(text: string): boolean {
  if (text === "" || /[?#\s]/.test(text)) return false;
  return !new URLSearchParams(text).has("action");
}
