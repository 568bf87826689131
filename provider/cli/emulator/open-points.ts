import { HEADER_WAY, parseCount, parseHeaderWay } from "../option-values.js";
import { type Command, Help, InvalidArgumentError, Option } from "commander";
import type { Switches } from "../../emulator/switches.js";

type HandshakeSwitch = keyof NonNullable<Switches["handshake"]>;

/** Where a switch is in the options of `startEmulator`: a dot reaches into an object. */
export type SwitchPath = Exclude<keyof Switches, "handshake"> | `handshake.${HandshakeSwitch}`;

/** One point that the specification leaves open, and the option of `apichat emulator` that chooses how it is read. */
export type OpenPoint = {
  /** What is open. */
  about: string;
  /** The section that leaves it open. */
  section: string;
  /** What holds without the option. */
  default: string;
} & (
  | {
      /** What can be chosen, and what it means. */
      readings: Record<string, string>;
    }
  | {
      /** What can be given in place of a reading; `none` is an option that is there or not. */
      value: "none" | "text" | "count" | "ms";
    }
);

/** The readings of a switch that is one of a few texts; `byDefault` is the default. */
const readings = <T extends string>(byDefault: NoInfer<T>, meanings: Record<T, string>) => ({
  default: byDefault,
  readings: meanings,
});

type ReadingOf<K extends keyof Switches> = NonNullable<Switches[K]> & string;
type HandshakeReadingOf<K extends HandshakeSwitch> = NonNullable<NonNullable<Switches["handshake"]>[K]> &
  string;

/** Every switch. The type asks for a row of each, and for a line of each reading. */
export const OPEN_POINTS: Record<SwitchPath, OpenPoint> = {
  "handshake.encoding": {
    about: "how the three parameters of the handshake are sent",
    section: "6.1",
    ...readings<HandshakeReadingOf<"encoding">>("form", {
      form: "a form in the body",
      json: "JSON in the body",
      multipart: "a multipart form in the body",
      query: "in the query of the webhook URL",
    }),
  },
  "handshake.challenge": {
    about: "the random string of the handshake",
    section: "6.1",
    ...readings<HandshakeReadingOf<"challenge">>("hex", {
      hex: "32 hex digits",
      digits: "10 digits",
      long: "1 KiB of letters, digits, + and /",
    }),
  },
  "handshake.timeoutMs": {
    about: "how long the whole handshake may take",
    section: "8",
    value: "ms",
    default: "5000",
  },
  failedHandshake: {
    about: "what a set-webhook with a failed handshake does",
    section: "3",
    ...readings<ReadingOf<"failedHandshake">>("keeps", {
      keeps: "422; what was registered stays",
      clears: "422; what was registered is removed",
      unverified: "200; the new one is stored with the status failed",
    }),
  },
  beforeFirstSet: {
    about: "what get-webhook answers before the first set-webhook",
    section: "4.1",
    ...readings<ReadingOf<"beforeFirstSet">>("empty-strings", {
      "empty-strings": "the four fields as empty strings",
      "null-fields": "the four fields as null",
      nulls: "data: null",
      missing: "no data",
      "empty-array": "data: []",
      "not-found": "HTTP 404",
    }),
  },
  maskKey: {
    about: "answers show the verification key as ab********yz",
    section: "2.1",
    value: "none",
    default: "as it is",
  },
  normalizeUrl: {
    about: "answers show the URL without default port and trailing slash, its host in lower case",
    section: "2.1",
    value: "none",
    default: "as it was given",
  },
  statusAfterSet: {
    about: "the webhook_status after a good handshake",
    section: "3",
    value: "text",
    default: "verified",
  },
  verifyAfterMs: {
    about: "after how long another --status-after-set becomes verified by itself",
    section: "3",
    value: "ms",
    default: "never",
  },
  errorShape: {
    about: "the body of an error",
    section: "7",
    ...readings<ReadingOf<"errorShape">>("envelope", {
      envelope: '{ "status": "error", "message" }',
      errors: '{ "message", "errors" }, with a list for each field',
      text: "the message alone",
      empty: "nothing",
    }),
  },
  registrationKey: {
    about: "where the registration interface finds the API key",
    section: "5",
    ...readings<ReadingOf<"registrationKey">>("body", {
      body: "the field ChaveApi only",
      "body-or-bearer": "there, or as Authorization: Bearer",
      "body-and-bearer": "there and as Authorization: Bearer",
    }),
  },
  flowKey: {
    about: "how the flow API key is presented on bot_url",
    section: "5",
    ...readings<ReadingOf<"flowKey"> | typeof HEADER_WAY>("bearer", {
      bearer: "as Authorization: Bearer",
      raw: "as Authorization alone",
      body: "the field ChaveApi, as in the registration",
      [HEADER_WAY]: "alone in a header of this name",
      none: "not required",
    }),
  },
  messageResponse: {
    about: "what bot_url answers to a message that it takes",
    section: "4.2",
    ...readings<ReadingOf<"messageResponse">>("ok", {
      ok: '200 and { "status": "ok" }',
      created: "201 and the id of the message",
      empty: "204",
    }),
  },
  senderFields: {
    about: "whether sender.email and sender.phone_number must be there",
    section: "2.3",
    ...readings<ReadingOf<"senderFields">>("optional", {
      optional: "they may be absent",
      required: "422 without them",
    }),
  },
  deliveryWhile: {
    about: "which registered webhooks get deliveries",
    section: "3",
    ...readings<ReadingOf<"deliveryWhile">>("verified", {
      verified: "only while their status is verified",
      registered: "all, also one whose handshake failed",
    }),
  },
  deliveryResponse: {
    about: "which answer to a delivery means that it was taken",
    section: "6.2",
    ...readings<ReadingOf<"deliveryResponse">>("2xx", {
      "2xx": "any 2xx",
      "200": "200 only",
      any: "any answer at all",
    }),
  },
  deliveryEncoding: {
    about: "how the body of a delivery is written",
    section: "6.2",
    ...readings<ReadingOf<"deliveryEncoding">>("json", {
      json: "plain JSON",
      php: "as PHP writes it, with \\/ and \\u00e9",
    }),
  },
  deliveryAttempts: {
    about: "how many times a delivery is attempted",
    section: "6.2",
    value: "count",
    default: "1, the harshest reading",
  },
  deliveryRetryMs: {
    about: "the pause before the second try; it doubles with each",
    section: "6.2",
    value: "ms",
    default: "1000",
  },
  deliveryTimeoutMs: {
    about: "how long one try may take",
    section: "8",
    value: "ms",
    default: "5000",
  },
  defaultAction: {
    about: "default_action of the cards in the flow menu",
    section: "2.4",
    ...readings<ReadingOf<"defaultAction">>("null", { null: "null", url: "an object with a URL" }),
  },
  requestsPerSecond: {
    about: "calls per second that a workspace may make before it gets 429",
    section: "8",
    value: "count",
    default: "any number",
  },
};

const GROUP = "Open points of the specification, and how they are read:";

/** Adds an option for each open point, in a group of its own in the help. */
export function addOpenPointOptions(command: Command): Command {
  for (const [path, point] of Object.entries(OPEN_POINTS)) command.addOption(toOption(path, point));
  return command.configureHelp({ optionDescription: describeOption });
}

/** The options of `startEmulator` that were chosen, out of what commander has parsed. */
export function pickSwitches(parsed: Record<string, unknown>): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [path, point] of Object.entries(OPEN_POINTS)) {
    const value = parsed[toOption(path, point).attributeName()];
    if (value !== undefined) put(picked, path.split("."), value);
  }
  return picked;
}

function put(target: Record<string, unknown>, [name = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    target[name] = value;
    return;
  }
  const inner = (target[name] ?? {}) as Record<string, unknown>;
  put(inner, rest, value);
  target[name] = inner;
}

/** `handshake.timeoutMs` becomes `--handshake-timeout-ms`. */
export const flagOf = (path: string): string =>
  `--${path.replaceAll(".", "-").replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;

function toOption(path: string, point: OpenPoint): Option {
  const flag = flagOf(path);
  if ("readings" in point) {
    const option = new Option(`${flag} <reading>`, describe(point)).choices(Object.keys(point.readings));
    // One of the readings has a name in it.
    if (HEADER_WAY in point.readings) option.argParser(parseWith(option));
    return option.helpGroup(GROUP);
  }
  const { placeholder, parse } = VALUES[point.value];
  const option = new Option(`${flag}${placeholder}`, describe(point)).helpGroup(GROUP);
  return parse === undefined ? option : option.argParser(parse);
}

/** Reads what the option takes by itself, or a header. */
const parseWith =
  ({ parseArg }: Option) =>
  (text: string): unknown =>
    parseHeaderWay(text) ?? parseArg?.(text, undefined);

const VALUES = {
  none: { placeholder: "", parse: undefined },
  text: { placeholder: " <text>", parse: undefined },
  count: { placeholder: " <count>", parse: parseCount },
  ms: { placeholder: " <ms>", parse: parseMs },
};

function describe(point: OpenPoint): string {
  const title = `${point.about} (section ${point.section})`;
  if (!("readings" in point)) return `${title}; default ${point.default}`;
  const lines = Object.entries(point.readings).map(
    ([reading, meaning]) => `- ${reading}: ${meaning}${reading === point.default ? " (default)" : ""}`,
  );
  return [title, ...lines].join("\n");
}

/** The description lists the readings, each with its meaning: commander would list them once more. */
function describeOption(option: Option): string {
  return option.helpGroupHeading === GROUP ? option.description : new Help().optionDescription(option);
}

const MAX_MS = 2_147_483_647;

function parseMs(text: string): number {
  const ms = Number(text);
  if (/^\d+$/.test(text) && ms <= MAX_MS) return ms;
  throw new InvalidArgumentError(`It must be a whole number of milliseconds, at most ${MAX_MS}.`);
}
