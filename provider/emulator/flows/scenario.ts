import * as z from "zod";
import type { InboundMessage } from "../../../schema/inbound.js";
import { INBOUND_KINDS, inboundKindOf, MEDIA_KINDS } from "../../../schema/message-kind.js";
import { flowReply, payloadOf, type Flow, type FlowReply } from "./flow.js";

const pattern = z.string().superRefine((source, context) => {
  try {
    compilePattern(source);
  } catch (error) {
    context.addIssue(`is not a valid regular expression: ${String(error)}`);
  }
});

const matching = z.strictObject({
  /** A JavaScript regular expression, without slashes. It ignores case and may match any part. */
  matches: pattern,
});

const textCondition = z.union([z.string(), matching], {
  error: 'must be a string, or { matches: "a regular expression" }',
});

const condition = z
  .strictObject({
    /**
     * The text: `content`, or the title of a pressed button. A string must match the whole text, ignoring
     * case and surrounding spaces.
     */
    text: textCondition.optional(),
    /** The payload of the pressed button. */
    payload: z.string().optional(),
    /** The `file_type` of an attachment. */
    media: z.enum(MEDIA_KINDS).optional(),
    /** The kind of message: `text`, `button` for a press, `image`, `audio`, `video` or `file`. */
    kind: z.enum(INBOUND_KINDS).optional(),
  })
  .refine((given) => Object.keys(given).length > 0, {
    error: "must name text, payload, media or kind; what replies to everything else is 'otherwise'",
  });

/** Which messages a rule applies to: at least one condition, and all must be met. */
export interface ScenarioCondition extends z.infer<typeof condition> {}

const scenarioRule = z.strictObject({
  /** The messages that the rule applies to. */
  when: condition,
  /** The replies, in this order; may be empty. */
  reply: z.array(flowReply),
});

/** One rule of a scenario. */
export interface ScenarioRule extends z.infer<typeof scenarioRule> {}

export const scenario = z.strictObject({
  /** The rules, in order: the first that matches replies. */
  rules: z.array(scenarioRule),
  /** The replies if no rule matches. Default: none. */
  otherwise: z.array(flowReply).optional(),
});

/**
 * A flow as data (YAML or JSON): the first rule that matches replies. In texts, titles, subtitles and
 * payloads of replies, `{{text}}`, `{{name}}` and `{{payload}}` stand for the contact's text and name, and
 * the payload of the pressed button.
 *
 * @example
 * rules:
 *   - when: { text: { matches: "^(oi|olá)" } }
 *     reply: [{ type: text, text: "Olá, {{name}}!" }]
 *   - when: { media: image }
 *     reply: [{ type: text, text: "Obrigado pela foto.", delayMs: 500 }]
 * otherwise: [{ type: text, text: "Não entendi: {{text}}" }]
 */
export interface Scenario extends z.infer<typeof scenario> {}

/** Returns the flow that a scenario describes. */
export function flowOfScenario({ rules, otherwise = [] }: Scenario): Flow {
  const ready = rules.map(({ when, reply }) => ({ matches: compileCondition(when), reply }));
  return ({ message }) => {
    const rule = ready.find(({ matches }) => matches(message));
    return (rule?.reply ?? otherwise).map((reply) => fillReply(reply, message));
  };
}

type Test = (message: InboundMessage) => boolean;

const meets = (actual: unknown, wanted: unknown): boolean => wanted === undefined || actual === wanted;

function compileCondition({ text, payload, media, kind }: ScenarioCondition): Test {
  const matchesText = text === undefined ? () => true : compileText(text);
  return (message) =>
    matchesText(message) &&
    meets(payloadOf(message), payload) &&
    [media, kind].every((wanted) => meets(inboundKindOf(message), wanted));
}

function compileText(text: string | { matches: string }): Test {
  if (typeof text !== "string") {
    const expression = compilePattern(text.matches);
    return ({ content }) => expression.test(content);
  }
  return ({ content }) => foldText(content) === foldText(text);
}

const compilePattern = (source: string): RegExp => new RegExp(source, "iu");

const foldText = (text: string): string => text.trim().toLowerCase();

/** The fields of a reply that may have placeholders. A URL is checked before they are filled, so it has none. */
const FILLED_FIELDS: ReadonlySet<string> = new Set(["text", "title", "subtitle", "payload"]);

const PLACEHOLDER = /\{\{(text|name|payload)\}\}/g;

/** Fills the placeholders of a reply. Placeholders in the contact's own text stay as they are. */
function fillReply(reply: FlowReply, message: InboundMessage): FlowReply {
  const values: Record<string, string> = {
    text: message.content,
    name: message.sender.name,
    payload: payloadOf(message) ?? "",
  };
  const filled = JSON.stringify(reply, (field, value: unknown) =>
    typeof value === "string" && FILLED_FIELDS.has(field)
      ? value.replaceAll(PLACEHOLDER, (_, name: string) => values[name] ?? "")
      : value,
  );
  return JSON.parse(filled) as FlowReply;
}
