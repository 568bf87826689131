import { expect, it } from "vitest";
import { FAULT_OPERATIONS } from "../../../provider/emulator/fault-names.ts";
import { faultKindsOf, faultRuleOf, type FaultFields } from "../../../provider/emulator/page/fault-input.ts";
import { faultRule } from "../../../provider/emulator/faults.ts";

const fields: FaultFields = {
  operation: "message",
  workspace: "",
  kind: "status",
  status: "503",
  delayMs: "250",
  statusField: "error",
  afterChange: false,
  times: "2",
  probability: "",
  seed: "1",
};

it("describes what is filled in, and nothing else", () => {
  expect(faultRuleOf(fields)).toEqual({ operation: "message", times: 2, fault: { status: 503 } });
  const rare = { ...fields, workspace: "acme", probability: "0.5", seed: "9", times: "", afterChange: true };
  expect(faultRuleOf(rare)).toEqual({
    operation: "message",
    workspace: "acme",
    probability: 0.5,
    seed: 9,
    fault: { status: 503, afterChange: true },
  });
});

it("strikes every call where neither a number nor a probability is given", () => {
  expect(faultRuleOf({ ...fields, times: "" })).toEqual({
    operation: "message",
    every: 1,
    fault: { status: 503 },
  });
});

const offered = FAULT_OPERATIONS.flatMap((operation) =>
  faultKindsOf(operation).map((kind) => ({ operation, kind })),
);

it.each(offered)("offers only what the emulator takes: $kind of $operation", (chosen) => {
  expect(faultRule.safeParse(faultRuleOf({ ...fields, ...chosen }))).toMatchObject({ success: true });
});
