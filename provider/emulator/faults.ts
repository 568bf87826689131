import * as z from "zod";
import { MAX_TIMER_MS } from "../lib/abort.js";
import { ANSWER_FAULTS, DELIVERY_FAULTS, FAULT_OPERATIONS } from "./names.js";

/**
 * What a fault applies to: an action of section 4.1, a message on `bot_url` (section 4.2), the handshake that
 * set-webhook performs (section 6.1), or one attempt of a delivery (section 6.2).
 */
export type FaultOperation = (typeof FAULT_OPERATIONS)[number];

const afterward = {
  /** Whether to make the change before the fault. Default false: after the delay of `delayMs`, else not at all. */
  afterChange: z.boolean().optional(),
};

const statusFault = z.strictObject({
  /** The HTTP status, from 200 to 599. */
  status: z.int().min(200).max(599),
  /** The header `Retry-After`, in seconds. */
  retryAfterSeconds: z.number().min(0).optional(),
  /** The body of the response. */
  body: z.string().optional(),
  ...afterward,
});
const delayFault = z.strictObject({
  /** The delay, in milliseconds. */
  delayMs: z.number().min(0).max(MAX_TIMER_MS),
  ...afterward,
});
const envelopeFault = z.strictObject({
  /** The `status` of the envelope, in place of `ok`. */
  statusField: z.string(),
  ...afterward,
});

const answerFault = z.union([statusFault, delayFault, envelopeFault, z.enum(ANSWER_FAULTS)]);

/**
 * A fault of a call to the registration interface, or of a message on `bot_url`:
 * - `{ status }`: this HTTP status, with `Retry-After` and a body if given. The change is not made, unless
 *   `afterChange`.
 * - `{ delayMs }`: the response is delayed. The change is made after the delay; with `afterChange`, before it.
 * - `{ statusField }`: HTTP 200 with this envelope status instead of `ok`. The change is not made, unless
 *   `afterChange`.
 * - `broken-json`, `html`, `truncated`: the change is made. The response is cut JSON, an HTML page, or a body that ends
 *   before its `Content-Length`, respectively.
 * - `close-before`, `close-after`: the connection is closed without a response; only `close-after` makes the change.
 *
 * A fault of the handshake replaces the response of the webhook URL, so the handshake fails. Nothing is sent
 * to the URL, except with `close-after` (the request is sent, its response is lost) and `{ delayMs }` (the
 * request is sent late, within the same time limit).
 */
export type AnswerFault = z.infer<typeof answerFault>;

const deliveryFault = z.union([statusFault, delayFault, z.enum(DELIVERY_FAULTS)]);

/**
 * A fault of one attempt of a delivery:
 * - `{ status }`: replaces the response of the webhook URL. Nothing is sent, unless `afterChange`.
 *   `retryAfterSeconds` has no effect here.
 * - `{ delayMs }`: sent this much later, as are the deliveries queued behind it; with `afterChange`, sent at
 *   once, but its response counts only after the delay.
 * - `broken-json`: the last 4 bytes are missing. `truncated`: the connection ends in the middle of the body. The
 *   signature is for the whole body.
 * - `close-before`: not sent. `close-after`: sent, but its response is lost.
 * - `wrong-signature`: signed with a different key.
 * - `duplicate`: followed at once by a copy, a separate delivery with the same bytes and headers.
 * - `reorder`: sent after the next delivery of its conversation, or alone if there is none within a second.
 */
export type DeliveryFault = z.infer<typeof deliveryFault>;

/** A fault of one call, message, handshake or attempt of a delivery. */
export type Fault = AnswerFault | DeliveryFault;

/** The faults that an operation can have. */
type FaultOf<Operation extends FaultOperation> = Operation extends "delivery" ? DeliveryFault : AnswerFault;

const fault = z.union([...answerFault.options, ...deliveryFault.options], {
  error:
    "must be { status }, { delayMs }, { statusField }, 'broken-json', 'html', 'truncated', 'close-before', " +
    "'close-after', 'wrong-signature', 'duplicate' or 'reorder'",
});

export const faultRule = z
  .strictObject({
    /** What the fault applies to. */
    operation: z.enum(FAULT_OPERATIONS),
    /** Only calls of this workspace. Default: all workspaces. Calls with a wrong API key never match. */
    workspace: z.string().optional(),
    /** How many calls the fault applies to. Default 1; unlimited with `every`. */
    times: z.int().min(1).optional(),
    /** The fault applies to every n-th matching call. Default 1: every call. */
    every: z.int().min(1).optional(),
    /** What goes wrong. */
    fault,
  })
  .refine(
    ({ operation, fault: given }) =>
      (operation === "delivery" ? deliveryFault : answerFault).safeParse(given).success,
    { path: ["fault"], error: "is not a fault of this operation" },
  );

/** A fault to inject. With `every: 1` and no `times`, it applies to all calls. */
export interface FaultRule extends z.input<typeof faultRule> {}

/** A rule with its state: `GET /_emulator/faults`. */
export interface FaultView extends FaultRule {
  /** Identifies the rule, for example in `DELETE /_emulator/faults/{id}`. */
  id: string;
  /** How many more calls the fault applies to; null if unlimited. */
  left: number | null;
  /** How many calls the fault has applied to. */
  matched: number;
}

interface ActiveRule {
  view: FaultView;
  seen: number;
}

/** The rules of one emulator, in the order of injection. */
export class FaultList {
  readonly #onChange: (faults: FaultView[]) => void;
  #rules: ActiveRule[] = [];

  constructor(onChange: (faults: FaultView[]) => void) {
    this.#onChange = onChange;
  }

  get views(): FaultView[] {
    return this.#rules.map(({ view }) => ({ ...view }));
  }

  /** Appends a rule. */
  add(id: string, rule: FaultRule): FaultView {
    const left = rule.times ?? (rule.every === undefined ? 1 : null);
    const view = { ...rule, id, matched: 0, left };
    this.#rules.push({ view, seen: 0 });
    this.#onChange(this.views);
    return view;
  }

  /** Removes a rule. Returns false if there is none with this id. */
  remove(id: string): boolean {
    const index = this.#rules.findIndex(({ view }) => view.id === id);
    if (index < 0) return false;
    this.#rules.splice(index, 1);
    this.#onChange(this.views);
    return true;
  }

  clear(): void {
    this.#rules = [];
    this.#onChange(this.views);
  }

  /** Returns the fault of the first matching rule, and counts the match. Rules with the fault `except` are skipped. */
  take<Operation extends FaultOperation>(
    operation: Operation,
    workspace: string,
    except?: Fault,
  ): FaultOf<Operation> | undefined {
    for (const rule of this.#rules) {
      const { view } = rule;
      if (view.fault === except || !isFor(view, operation, workspace) || !isDue(rule)) continue;
      if (view.left !== null) view.left -= 1;
      view.matched += 1;
      this.#onChange(this.views);
      // The fault was checked when the rule was added.
      return view.fault as FaultOf<Operation>;
    }
    return undefined;
  }
}

function isFor(rule: FaultView, operation: FaultOperation, workspace: string): boolean {
  if (rule.left === 0 || rule.operation !== operation) return false;
  return rule.workspace === undefined || rule.workspace === workspace;
}

function isDue(rule: ActiveRule): boolean {
  rule.seen += 1;
  return rule.seen % (rule.view.every ?? 1) === 0;
}
