import { startListener } from "../support/http.ts";
import { vi } from "vitest";
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
  type RecordedRequest,
  type Workspace,
} from "../../provider/emulator/index.js";
import { createResponder } from "../../provider/responder/index.js";
import { toNodeListener } from "../../provider/responder/node.js";
import { Engine, type Failure, type Goal, type Outcome, type ProviderName, type Stored } from "./engine.js";

export const WORKSPACES = ["acme", "globex", "initech"] as const;
export type WorkspaceName = (typeof WORKSPACES)[number];

/** The resource names. A program may use any of them for any workspace, and later for a different one. */
export const NAMES = ["alpha", "beta", "gamma", "delta", "epsilon"];

/**
 * Secrets with their number, and with characters that every encoding writes differently. The number is at the end:
 * masks show the last two characters, so masked secrets differ too.
 */
export const SECRETS = {
  apiKey: (number: number): string => `ak/+=&<"ü">-0123456789-${number}`,
  key: (number: number): string => `vk/+=&<"ü">-0123456789-${number}`,
  foreignKey: (number: number): string => `foreign/+=&<"ü">-0123456789-${number}`,
};
/** How many keys the endpoint accepts. */
const KEYS = 3;

/** Whether a call had a fault. */
export const isSpoilt = ({ fault }: RecordedRequest): boolean => fault !== "";

type Registration = NonNullable<Workspace["registration"]>;
/** The values that set-webhook sets. */
export type Pair = Pick<Registration, "webhook_url" | "webhook_verification_key">;

export const isSame = (a: Pair, b: Pair): boolean =>
  a.webhook_url === b.webhook_url && a.webhook_verification_key === b.webhook_verification_key;

/** A webhook as the program declares it. `url` and `key` are indexes of the endpoint's URLs and keys. */
export interface Declaration {
  name: string;
  aliases: string[];
  url: number;
  key: number;
  /** Whether the program uses the second of the workspace's two base URLs. */
  isMoved: boolean;
  provider: ProviderName;
  onExisting: "fail" | "replace";
}

/** What the model knows about a workspace, in addition to its registration. */
interface Known {
  /** Whether the registration was changed from outside since the last read, so that the state lacks the change. */
  isUnseen: boolean;
  /** Whether the state lacks a call's effect: the call was killed, or its response and the next read's were lost. */
  isUnrecorded: boolean;
  /** The base URL and the API key with which the last successful `up` read a registration. */
  reached: { baseUrl: string; apiKey: string } | undefined;
  /** The values that our calls have adopted or tried to set. */
  ours: Pair[];
}

/** The effect of a command on one workspace. */
export interface Seen {
  command: "up" | "preview" | "refresh" | "destroy";
  workspace: WorkspaceName;
  /** Whether the whole command succeeded. */
  ok: boolean;
  isRefreshing: boolean;
  isReplaced: boolean;
  /** Whether the provider checked the whole program before it wrote. */
  isCheckedFirst: boolean;
  failures: Outcome["failures"];
  killed: Outcome["killed"];
  before: Standing;
  after: Standing;
  /** The resources of all other workspaces in the state before the command. */
  elsewhere: readonly Stored[];
  requests: readonly RecordedRequest[];
  /** The calls of the operations that write: set-webhook and delete-webhook. */
  writes: readonly RecordedRequest[];
  /** The number of calls and handshakes that failed. */
  strikes: number;
}

/** The state of a workspace, at the service and in the stack. */
interface Standing {
  registration: Registration | undefined;
  stored: Stored[];
}

const known = (): Known => ({ isUnseen: false, isUnrecorded: false, reached: undefined, ours: [] });

/** The service, an endpoint, a program with its environment, and the state of its stack. */
export class World {
  readonly engine = new Engine();
  readonly program = new Map<WorkspaceName, Declaration>();
  readonly known: Record<WorkspaceName, Known>;
  /** Where the program's API key comes from. */
  keySource: "argument" | "environment" = "environment";
  /** The index of the API key that the service accepts, and of the one that the program uses. */
  serviceKey = 0;
  givenKey = 0;
  foreignCount = 0;
  /** Whether the last command succeeded. */
  hasSucceeded = false;
  readonly emulator: Emulator;
  readonly endpoint: Endpoint;
  /** Whether the service masks the keys that it returns. */
  readonly masksKey: boolean;

  private constructor(emulator: Emulator, endpoint: Endpoint, masksKey = false) {
    this.masksKey = masksKey;
    this.emulator = emulator;
    this.endpoint = endpoint;
    this.known = { acme: known(), globex: known(), initech: known() };
    for (const name of WORKSPACES) emulator.workspace(`${name}-moved`).change({ routeTo: name });
  }

  static async open(readings: EmulatorOptions = {}): Promise<World> {
    const names = WORKSPACES.flatMap((name) => [name, `${name}-moved`]);
    const workspaces = names.map((name) => ({ name, apiKey: SECRETS.apiKey(0) }));
    const [emulator, endpoint] = await Promise.all([
      startEmulator({ workspaces, ...readings }),
      startEndpoint(),
    ]);
    return new World(emulator, endpoint, readings.maskKey);
  }

  async close(): Promise<void> {
    await Promise.all([this.emulator.close(), this.endpoint.close()]);
  }

  /** The registration that the program wants. */
  wanted({ url, key }: Declaration): Pair {
    return { webhook_url: `${this.endpoint.origin}/${url}`, webhook_verification_key: SECRETS.key(key) };
  }

  baseUrlOf(name: WorkspaceName): string {
    return this.emulator.workspace(this.program.get(name)?.isMoved ? `${name}-moved` : name).baseUrl;
  }

  workspaceAt(baseUrl: unknown): WorkspaceName | undefined {
    const isAt = (name: string): boolean => this.emulator.workspace(name).baseUrl === baseUrl;
    return WORKSPACES.find((name) => isAt(name) || isAt(`${name}-moved`));
  }

  stand(workspace: WorkspaceName): Standing {
    const stored = this.engine.state.filter(
      ({ outputs }) => this.workspaceAt(outputs["baseUrl"]) === workspace,
    );
    return {
      registration: this.emulator.workspace(workspace).registration,
      stored: structuredClone(stored),
    };
  }

  isOurs(workspace: WorkspaceName, registration: Pair): boolean {
    return this.known[workspace].ours.some((one) => isSame(one, registration));
  }

  /** Whether neither the URL nor the key was ever ours. */
  isForeign(workspace: WorkspaceName, { webhook_url, webhook_verification_key }: Pair): boolean {
    return this.known[workspace].ours.every(
      (one) => one.webhook_url !== webhook_url && one.webhook_verification_key !== webhook_verification_key,
    );
  }

  goals(): Goal[] {
    return [...this.program].map(([workspace, declared]) => {
      const { webhook_url, webhook_verification_key } = this.wanted(declared);
      const args = {
        webhookUrl: webhook_url,
        webhookVerificationKey: webhook_verification_key,
        onExisting: declared.onExisting,
        baseUrl: this.baseUrlOf(workspace),
        ...(this.keySource === "argument" ? { apiKey: SECRETS.apiKey(this.givenKey) } : {}),
        timeouts: { requestSeconds: 5, readySeconds: 0 },
      };
      return { name: declared.name, aliases: declared.aliases, provider: declared.provider, args };
    });
  }

  /**
   * Runs a command in the current environment. Returns its effect on each workspace, and everything that it
   * printed.
   */
  async run(
    command: Seen["command"],
    work: () => Promise<Outcome>,
    {
      replace = [],
      refresh = false,
      checksFirst = false,
    }: { replace?: readonly WorkspaceName[]; refresh?: boolean; checksFirst?: boolean } = {},
  ): Promise<{ seen: Seen[]; printed: string[] }> {
    const before = WORKSPACES.map((workspace) => this.stand(workspace));
    const isAt =
      (workspace: WorkspaceName) =>
      ({ props }: Pick<Failure, "props">) =>
        this.workspaceAt(props["baseUrl"]) === workspace;
    const requestCount = this.emulator.requests.length;
    const handshakeCounts = WORKSPACES.map((name) => this.emulator.workspace(name).handshakes.length);
    const printed: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
    const apiKey = this.keySource === "environment" ? SECRETS.apiKey(this.givenKey) : undefined;
    vi.stubEnv("APICHAT_API_KEY", apiKey);
    const outcome = await work();
    log.mockRestore();
    vi.unstubAllEnvs();
    this.hasSucceeded = outcome.ok;
    const seen = WORKSPACES.map((workspace, index): Seen => {
      const requests = this.emulator.requests
        .slice(requestCount)
        .filter((request) => request.workspace === workspace || request.workspace === `${workspace}-moved`);
      const handshakes = this.emulator.workspace(workspace).handshakes.slice(handshakeCounts[index]);
      const { ok, killed } = outcome;
      return {
        command,
        workspace,
        ok,
        isRefreshing: command === "refresh" || refresh,
        isReplaced: replace.includes(workspace),
        isCheckedFirst: checksFirst,
        failures: outcome.failures.filter(isAt(workspace)),
        killed: killed && isAt(workspace)(killed) ? killed : undefined,
        before: before[index] ?? this.stand(workspace),
        elsewhere: before.filter((_, other) => other !== index).flatMap(({ stored }) => stored),
        after: this.stand(workspace),
        requests,
        writes: requests.filter(({ operation }) => operation !== "get-webhook"),
        strikes:
          requests.filter(isSpoilt).length + handshakes.filter(({ verdict }) => verdict !== "passed").length,
      };
    });
    return { seen, printed };
  }
}

interface Endpoint {
  origin: string;
  isUp: boolean;
  close: () => Promise<void>;
}

/** Starts a responder that accepts all keys on every path. While `isUp` is false, it responds with 503. */
async function startEndpoint(): Promise<Endpoint> {
  const verificationKeys = Array.from({ length: KEYS }, (_, number) => SECRETS.key(number));
  const answer = toNodeListener(createResponder({ verificationKeys, onDelivery: () => {} }));
  const { url, close } = await startListener((request, response) => {
    if (endpoint.isUp) answer(request, response);
    else response.writeHead(503).end();
  });
  const endpoint: Endpoint = { origin: url, isUp: true, close };
  return endpoint;
}
