import { expect, test } from "vitest";
import { RunFacts, type Fact } from "../../../provider/webhook/facts.ts";

const held = (step: "diff" | "write", claimId: string, resource: string) =>
  ({ fact: "held", step, bot: "b", claim: { claimId, resource, name: resource } }) as const;
const DECLARED: Fact = { fact: "declared", workspace: "w", resource: "acme", name: "acme" };
const RELEASED: Fact = { fact: "released", bot: "b", claimId: "1" };

/** Steps that a fact about state 1 of the resource acme may forbid. A "different state" is state 2. */
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
type Step = keyof typeof REJECTIONS;

const HELD: Step[] = [
  "the delete of a different state",
  "a diff of a different state",
  "a create of a different resource",
];

test.each<[string, Fact[], Step[]]>([
  ["declared", [DECLARED], ["the check of a different resource", "a delete in the workspace"]],
  ["held by diff", [held("diff", "1", "acme")], HELD],
  ["held by write", [held("write", "1", "acme")], [...HELD, "a create of the same resource"]],
  ["released", [held("write", "1", "acme"), RELEASED], []],
])("the fact %s causes exactly the expected rejections", (_, facts, rejected) => {
  const found = Object.entries(REJECTIONS).filter(([, isRejected]) => isRejected(new RunFacts(facts)));
  expect(found.map(([step]) => step).toSorted()).toEqual(rejected.toSorted());
});
