import { expect, test } from "vitest";
import { RunFacts, type Fact } from "../../../provider/webhook/facts.ts";
import { memoryLog, type RunLog } from "../../../provider/webhook/run-log.ts";
import {
  FOREIGN,
  checked,
  create,
  failureOf,
  hasChanges,
  isolateRuns,
  refresh,
  remove,
  startCreated,
  startRun,
  update,
} from "./harness.js";

isolateRuns();

/** A row of the table, such as `held by diff`. */
type RowOf<F> = F extends { fact: infer Name extends string; step: infer Step extends string }
  ? `${Name} by ${Step}`
  : F extends { fact: infer Name extends string }
    ? Name
    : never;

const rowOf = (fact: Fact): RowOf<Fact> => (fact.fact === "held" ? `held by ${fact.step}` : fact.fact);

const held = (step: "diff" | "write", claimId: string, resource: string) =>
  ({ fact: "held", step, bot: "b", claim: { claimId, resource, name: resource } }) as const;

/** The steps of state 2 that a fact of acme's state 1 may reject. */
const REJECTIONS = {
  "the check of the same resource": (facts: RunFacts) => facts.declarerOf("w", "acme"),
  "the check of a different resource": (facts: RunFacts) => facts.declarerOf("w", "other"),
  "a delete in the workspace": (facts: RunFacts) => facts.declarerOf("w"),
  "the delete of the same state": (facts: RunFacts) => facts.otherHolderOf("b", "1"),
  "the delete of a different state": (facts: RunFacts) => facts.otherHolderOf("b", "2"),
  "a diff of a different state": (facts: RunFacts) => facts.rivalOf(held("diff", "2", "acme")),
  "a create of the same resource": (facts: RunFacts) => facts.rivalOf(held("write", "2", "acme")),
  "a create of a different resource": (facts: RunFacts) => facts.rivalOf(held("write", "2", "other")),
};
type Refusal = keyof typeof REJECTIONS;

const HELD: Refusal[] = [
  "the delete of a different state",
  "a diff of a different state",
  "a create of a different resource",
];
/** Each row with everything that it rejects. A row without an entry here does not compile. */
const ROWS: Record<RowOf<Fact>, { facts: Fact[]; refuses: Refusal[] }> = {
  declared: {
    facts: [{ fact: "declared", workspace: "w", resource: "acme", name: "acme" }],
    refuses: ["the check of a different resource", "a delete in the workspace"],
  },
  "held by diff": { facts: [held("diff", "1", "acme")], refuses: HELD },
  "held by write": {
    facts: [held("write", "1", "acme")],
    refuses: [...HELD, "a create of the same resource"],
  },
  released: {
    facts: [held("write", "1", "acme"), { fact: "released", bot: "b", claimId: "1" }],
    refuses: [],
  },
};

test.each(Object.entries(ROWS))("%s: what it decides", (row, { facts, refuses }) => {
  expect(facts.map(rowOf).at(-1)).toBe(row);
  const refused = Object.entries(REJECTIONS).filter(([, isRefused]) => isRefused(new RunFacts(facts)));
  expect(refused.map(([what]) => what).toSorted()).toEqual(refuses.toSorted());
});

type Created = Awaited<ReturnType<typeof startCreated>>;

test.each<[step: string, (created: Created) => Promise<unknown>, RowOf<Fact>[]]>([
  ["check", ({ args }) => checked(args), ["declared"]],
  ["diff without a change", ({ state, args }) => hasChanges(state, args), ["declared", "held by diff"]],
  ["diff with a change", ({ state, args }) => hasChanges(state, { ...args, preflight: "off" }), ["declared"]],
  ["refresh", ({ state }) => refresh(state), []],
  ["create that adopts", ({ args }) => create(args), ["declared", "held by write"]],
  [
    "create that sets",
    ({ args, acme }) => {
      acme.removeRegistration();
      return create(args);
    },
    ["declared", "held by write"],
  ],
  [
    "create that fails",
    ({ args, acme }) => {
      acme.takeOver(FOREIGN);
      return failureOf(create(args));
    },
    ["declared", "held by write", "released"],
  ],
  ["update", ({ state, args }) => update(state, args), ["declared", "held by write"]],
  ["delete", ({ state }) => remove(state), ["released"]],
  [
    "delete that fails",
    ({ state, emulator }) => {
      emulator.injectFault({ operation: "get-webhook", fault: { status: 422 } });
      return failureOf(remove(state));
    },
    [],
  ],
])("what a %s learns", async (_, step, rows) => {
  const created = await startCreated();
  const learnt: Fact[] = [];
  const log = memoryLog();
  const recording: RunLog = {
    append: (fact) => (learnt.push(fact), log.append(fact)),
    read: () => log.read(),
  };
  startRun({}, recording);
  await step(created);
  expect([...new Set(learnt.map(rowOf))]).toEqual(rows);
});
