import { useSignal } from "@preact/signals";
import type { TargetedMouseEvent } from "preact";
import { ANSWER_FAULTS, DELIVERY_FAULTS, FAULT_OPERATIONS } from "../../names.js";
import type { FaultView } from "../../faults.js";
import { send } from "../api.js";
import { data } from "../store.js";
import { Tool } from "./buttons.js";
import { Field, Form, Select, type Fields } from "./form.js";
import { Popover } from "./popover.js";
import { Code } from "./untrusted.js";

/** The faults that have a value. All others are only names, as in the control API. */
const VALUES = {
  status: { label: "HTTP status", min: 200, max: 599, defaultValue: "500" },
  delayMs: { label: "Delay in milliseconds", min: 0, defaultValue: "3000" },
} as const;

type WithValue = keyof typeof VALUES;

/** All faults: the emulator rejects those that do not fit the operation. */
const FAULTS = [...new Set(["status", "delayMs", ...ANSWER_FAULTS, ...DELIVERY_FAULTS] as const)];

/** Injects faults, and lists those that can still match. */
export function FaultPanel() {
  const active = data.value.faults.filter(({ left }) => left !== 0);
  const badge = active.length > 0 && (
    <span class="badge" data-variant="danger">
      {active.length} active
    </span>
  );
  return (
    <Popover title="Inject faults" badge={badge} data-testid="open-faults">
      <FaultForm />
      <ol class="vstack gap-2" aria-label="Active faults" data-testid="faults">
        {active.map((fault, index) => (
          <FaultItem key={fault.id} fault={fault} number={index + 1} />
        ))}
      </ol>
    </Popover>
  );
}

function FaultForm() {
  const kind = useSignal<(typeof FAULTS)[number]>("status");
  const value = kind.value in VALUES ? VALUES[kind.value as WithValue] : undefined;
  return (
    <Form class="vstack" action={(fields) => send("POST", ["faults"], faultRuleOf(fields))}>
      <p>A fault applies to the next matching calls. Calls with a wrong API key never match.</p>
      <div class="pairs">
        <Select label="Operation" name="operation" options={FAULT_OPERATIONS} />
        <Select
          label="Workspace"
          name="workspace"
          options={["", ...data.value.workspaces.keys()]}
          nameOf={(name) => name || "every workspace"}
        />
        <Select
          label="What goes wrong"
          name="kind"
          value={kind.value}
          options={FAULTS}
          onChange={(name) => (kind.value = name)}
        />
        {value && <Field key={kind.value} name="value" type="number" required {...value} />}
        <Field label="How many calls (empty: no limit)" name="times" type="number" min={1} defaultValue="1" />
      </div>
      <button data-testid="fault-add">Inject fault</button>
    </Form>
  );
}

/** The rule that the form describes. The emulator checks it. */
const faultRuleOf = ({ operation, workspace, kind = "", value, times }: Fields): object => ({
  operation,
  workspace: workspace || undefined,
  // Without `times` and `every`, the fault would apply to one call only.
  every: times ? undefined : 1,
  times: times ? Number(times) : undefined,
  fault: value === undefined ? kind : { [kind]: Number(value) },
});

function FaultItem({ fault, number }: { fault: FaultView; number: number }) {
  const { id, left, matched, ...rule } = fault;
  function remove({ currentTarget }: TargetedMouseEvent<HTMLButtonElement>): Promise<unknown> {
    // The button disappears with its fault, which would move the focus to the start of the page.
    currentTarget.closest("section")?.querySelector<HTMLElement>("form button")?.focus();
    return send("DELETE", ["faults", id]);
  }
  return (
    <li class="flex justify-between">
      <span>
        <Code>{JSON.stringify(rule)}</Code>
        <br />
        <span class="text-light">
          {left === null ? "until removed" : `${left} left`} · matched {matched}
        </span>
      </span>
      <Tool short="×" label={`Remove fault ${number}`} action={remove} />
    </li>
  );
}
