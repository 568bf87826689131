import * as z from "zod";

/**
 * What a fault changes: an action of section 4.1, a message on `bot_url` (section 4.2), the handshake that set-webhook makes
 * (section 6.1), or one try of a delivery (section 6.2).
 */
export type FaultOperation =
  "get-webhook" | "set-webhook" | "delete-webhook" | "message" | "handshake" | "delivery";

const afterChange = z.boolean().optional();

const statusFault = z.strictObject({
  status: z.int().min(200).max(599),
  retryAfterSeconds: z.number().min(0).optional(),
  body: z.string().optional(),
  afterChange,
});
const delayFault = z.strictObject({ delayMs: z.number().min(0).max(2_147_483_647), afterChange });

const answerFault = z.union([
  statusFault,
  delayFault,
  z.strictObject({ statusField: z.string(), afterChange }),
  z.enum(["broken-json", "html", "truncated", "close-before", "close-after"]),
]);

/**
 * What goes wrong with a call of the registration interface, or with a message on `bot_url`:
 * - `{ status }`: this HTTP status, with `Retry-After` and a body if given. The change is not made, unless `afterChange`.
 * - `{ delayMs }`: the answer comes late. The change is made when the delay is over; with `afterChange`, before it.
 * - `{ statusField }`: HTTP 200 with this envelope status in place of `ok`. The change is not made, unless `afterChange`.
 * - `broken-json`, `html`, `truncated`: the change is made; the answer is cut JSON, an HTML page, or a body that ends
 *   before its `Content-Length`.
 * - `close-before`, `close-after`: the connection is closed without an answer, before or after the change is made.
 *
 * A fault of the handshake stands for what the webhook URL answers, so the handshake fails: nothing is sent to it,
 * except with `close-after` (sent, its answer is lost) and `{ delayMs }` (sent late; the time limit runs meanwhile).
 */
export type AnswerFault = z.infer<typeof answerFault>;

const deliveryFault = z.union([
  statusFault,
  delayFault,
  z.enum([
    "broken-json",
    "truncated",
    "close-before",
    "close-after",
    "wrong-signature",
    "duplicate",
    "reorder",
  ]),
]);

/**
 * What goes wrong with one try of a delivery:
 * - `{ status }`: the webhook URL answers this, as far as the emulator can tell: nothing is sent, or with `afterChange` it is
 *   sent and its own answer lost. `retryAfterSeconds` changes nothing here.
 * - `{ delayMs }`: sent this much later, as are the deliveries queued behind it; with `afterChange`, sent at once, but its
 *   response counts only after the delay.
 * - `broken-json`, `truncated`: the last 4 bytes are missing, or the connection ends in the middle of the body. The
 *   signature is that of the whole body.
 * - `close-before`, `close-after`: not sent, or sent and its answer lost.
 * - `wrong-signature`: signed with another key.
 * - `duplicate`: sent a second time right after, with the same bytes and headers, as a delivery of its own.
 * - `reorder`: goes after the next delivery of its conversation; alone, if none comes within a second.
 */
export type DeliveryFault = z.infer<typeof deliveryFault>;

/** What goes wrong with one call, message, handshake or try of a delivery. */
export type Fault = AnswerFault | DeliveryFault;

/** The faults that an operation can have. */
type FaultOf<Operation extends FaultOperation> = Operation extends "delivery" ? DeliveryFault : AnswerFault;

const count = z.union([z.int().min(1), z.literal(Infinity)], {
  error: "must be a whole number from 1, or Infinity",
});

const fault = z.union([...answerFault.options, ...deliveryFault.options], {
  error:
    "must be { status }, { delayMs }, { statusField }, 'broken-json', 'html', 'truncated', 'close-before', " +
    "'close-after', 'wrong-signature', 'duplicate' or 'reorder'",
});

export const faultRule = z
  .strictObject({
    operation: z.enum(["get-webhook", "set-webhook", "delete-webhook", "message", "handshake", "delivery"]),
    /** Only calls of this workspace. Default: all. Calls with a wrong API key never match. */
    workspace: z.string().optional(),
    /** How many calls get the fault; then the rule is spent. Default 1; with `every` or `probability` unlimited. */
    times: count.optional(),
    /** Every n-th matching call gets the fault. Default 1: every call. */
    every: z.int().min(1).optional(),
    /** How likely a call gets it, from 0 to 1. Default 1: always. */
    probability: z.number().min(0).max(1).optional(),
    /** Of the chances of `probability`: equal seeds match the same calls, counted from the injection. Default 1. */
    seed: z.int().optional(),
    fault,
  })
  .refine((rule) => fits(rule.operation, rule.fault), {
    path: ["fault"],
    error: ({ input }) => describeMisfit(input),
  });

/**
 * A fault to be injected. It is plain JSON except for `times: Infinity`; leaving out `times` together with `every` means the
 * same.
 */
export interface FaultRule extends z.input<typeof faultRule> {}

/** Whether an operation can have a fault: a delivery has no envelope, and an answer no signature. */
function fits<Operation extends FaultOperation>(operation: Operation, of: Fault): of is FaultOf<Operation> {
  return (operation === "delivery" ? deliveryFault : answerFault).safeParse(of).success;
}

function describeMisfit(rule: unknown): string {
  const { operation, fault: given } = rule as FaultRule;
  const name = typeof given === "string" ? `'${given}'` : "{ statusField }";
  return operation === "delivery"
    ? `${name} is a fault of answers; a delivery is a request`
    : `${name} is a fault of the operation delivery, not of ${operation}`;
}

/** A rule with what has come of it: `GET /_emulator/faults`. */
export interface FaultView extends FaultRule {
  id: string;
  /** How many calls may still get it; null without end. */
  left: number | null;
  /** How many calls got it. */
  matched: number;
}

interface ActiveRule {
  view: FaultView;
  seen: number;
  random: () => number;
}

const DEFAULT_SEED = 1;

/** The rules of one emulator, in the order they were injected. */
export class FaultList {
  readonly #onChange: () => void;
  #rules: ActiveRule[] = [];

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get views(): FaultView[] {
    return this.#rules.map(({ view }) => ({ ...view }));
  }

  /** Adds a rule behind the others. */
  add(id: string, { times, ...rule }: FaultRule): FaultView {
    const isEndless = rule.every !== undefined || rule.probability !== undefined;
    const most = times ?? (isEndless ? Infinity : 1);
    // Infinity is no JSON: without end is null in `left`, and leaves out `times`.
    const left = most === Infinity ? null : most;
    const view = { ...rule, ...(times !== Infinity && { times }), id, matched: 0, left };
    this.#rules.push({ view, seen: 0, random: createRandom(rule.seed ?? DEFAULT_SEED) });
    this.#onChange();
    return view;
  }

  /** Takes a rule back; false if there is none of this id. */
  remove(id: string): boolean {
    const left = this.#rules.filter(({ view }) => view.id !== id);
    if (left.length === this.#rules.length) return false;
    this.#rules = left;
    this.#onChange();
    return true;
  }

  clear(): void {
    this.#rules = [];
    this.#onChange();
  }

  /**
   * The fault of this call, if any: that of the first rule that matches, which is then one call nearer its end. Rules whose
   * fault is `except` are passed over.
   */
  take<Operation extends FaultOperation>(
    operation: Operation,
    workspace: string,
    except?: Fault,
  ): FaultOf<Operation> | undefined {
    for (const rule of this.#rules) {
      const { view } = rule;
      if (view.fault === except || !isFor(view, operation, workspace)) continue;
      if (!fits(operation, view.fault) || !isDue(rule)) continue;
      if (view.left !== null) view.left -= 1;
      view.matched += 1;
      this.#onChange();
      return view.fault;
    }
    return undefined;
  }
}

function isFor(rule: FaultView, operation: FaultOperation, workspace: string): boolean {
  if (rule.left === 0 || rule.operation !== operation) return false;
  return rule.workspace === undefined || rule.workspace === workspace;
}

function isDue(rule: ActiveRule): boolean {
  const { every = 1, probability } = rule.view;
  rule.seen += 1;
  if (rule.seen % every !== 0) return false;
  return probability === undefined || rule.random() < probability;
}

/** Numbers from 0 to below 1 that follow from a seed (mulberry32): the same in every run. Not for secrets. */
function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
