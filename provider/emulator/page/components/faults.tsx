import { useSignal } from "@preact/signals";
import type { TargetedMouseEvent } from "preact";
import { ANSWER_FAULTS, DELIVERY_FAULTS, FAULT_OPERATIONS } from "../../fault-names.js";
import type { FaultOperation, FaultView } from "../../faults.js";
import { send } from "../api.js";
import { data } from "../store.js";
import { moveFocus, Tool, type ToolProps } from "./buttons.js";
import { Dialog } from "./dialog.js";
import { Check, Field, Form, Select, type Fields } from "./form.js";
import { Code, Text } from "./untrusted.js";

/** The faults that have a value, with the field for it. The others have the names of the control API, as in the docs. */
const WITH_VALUE = {
  status: { label: "HTTP status", type: "number", min: 200, max: 599, defaultValue: "500" },
  delayMs: { label: "Delayed response (ms)", type: "number", min: 0, defaultValue: "3000" },
  statusField: { label: "Value of status", type: "text", defaultValue: "error" },
} as const;

type FaultKind = keyof typeof WITH_VALUE | (typeof ANSWER_FAULTS | typeof DELIVERY_FAULTS)[number];

/** What can go wrong with an operation. */
function faultKindsOf(operation: FaultOperation): readonly FaultKind[] {
  if (operation === "delivery") return ["status", "delayMs", ...DELIVERY_FAULTS];
  if (operation === "handshake") return ["status", "delayMs", ...ANSWER_FAULTS];
  return ["status", "delayMs", "statusField", ...ANSWER_FAULTS];
}

const hasValue = (kind: FaultKind): kind is keyof typeof WITH_VALUE => Object.hasOwn(WITH_VALUE, kind);

const nameOf = (kind: FaultKind): string => (hasValue(kind) ? WITH_VALUE[kind].label : kind);

/** Whether it can still match a call. */
const isActive = ({ left }: FaultView): boolean => left !== 0;

/** Injects faults, and lists those that can still match. */
export function FaultPanel() {
  const active = data.value.faults.filter(isActive).length;
  return (
    <Dialog
      title="Inject faults"
      opener={(open) => (
        <button type="button" class="outline" onClick={open} data-testid="open-faults">
          Inject faults
          {active > 0 && (
            <span class="badge" data-variant="danger">
              {active} active
            </span>
          )}
        </button>
      )}
    >
      {() => (
        <>
          <FaultForm />
          <FaultList />
        </>
      )}
    </Dialog>
  );
}

/** Describes a fault: which calls it matches, what goes wrong, and how often. */
function FaultForm() {
  const operation = useSignal<FaultOperation>("message");
  const workspace = useSignal(data.peek().scope.workspace ?? "");
  const chosen = useSignal<FaultKind>("status");
  const kinds = faultKindsOf(operation.value);
  const kind = kinds.includes(chosen.value) ? chosen.value : "status";
  return (
    <Form aria-label="Inject faults" action={(fields) => send("POST", ["faults"], faultRuleOf(fields))}>
      <p>A fault applies to the next matching calls. Calls with a wrong API key never match.</p>
      <div class="pairs">
        <Select
          label="Operation"
          name="operation"
          value={operation.value}
          options={FAULT_OPERATIONS}
          onChange={(name) => (operation.value = name)}
        />
        <Select
          label="Workspace"
          name="workspace"
          value={workspace.value}
          options={["", ...data.value.workspaces.keys()]}
          nameOf={(name) => name || "every workspace"}
          onChange={(name) => (workspace.value = name)}
        />
        <Select
          label="What goes wrong"
          name="kind"
          value={kind}
          options={kinds}
          nameOf={nameOf}
          onChange={(name) => (chosen.value = name)}
        />
        {hasValue(kind) && (
          <>
            <Field key={kind} name="value" {...WITH_VALUE[kind]} label={WITH_VALUE[kind].label} required />
            <Check name="afterChange">After the change is made</Check>
          </>
        )}
        <Field
          label="How many calls"
          hint="Empty: no limit."
          name="times"
          type="number"
          min={1}
          defaultValue="1"
        />
      </div>
      <footer>
        <button data-testid="fault-add">Inject fault</button>
      </footer>
    </Form>
  );
}

/** The rule that the form describes. The emulator checks it. */
function faultRuleOf({ operation, workspace, kind = "", value, afterChange, times }: Fields): object {
  const known = kind === "statusField" ? value : numberOf(value);
  return {
    operation,
    workspace: workspace || undefined,
    // With neither the emulator takes one call.
    every: times ? undefined : 1,
    times: numberOf(times),
    fault: value === undefined ? kind : { [kind]: known, afterChange: afterChange && true },
  };
}

const numberOf = (text = ""): number | undefined => (text === "" ? undefined : Number(text));

function FaultList() {
  const active = data.value.faults.filter(isActive);
  return (
    <section class="vstack gap-2" aria-label="Active faults">
      <div class="hstack justify-between">
        <h3>Active faults</h3>
        {active.length > 0 && <Remove label="Remove all" route={["faults"]} />}
      </div>
      {active.length === 0 && <p class="text-light">No active faults.</p>}
      <ol class="vstack gap-2" data-testid="faults">
        {active.map((fault, index) => (
          <FaultItem key={fault.id} fault={fault} number={index + 1} />
        ))}
      </ol>
    </section>
  );
}

function FaultItem({ fault: rule, number }: { fault: FaultView; number: number }) {
  const { id, operation, workspace, fault, every = 1, left, matched } = rule;
  const kind = (typeof fault === "string" ? fault : Object.keys(fault)[0]) as FaultKind;
  return (
    <li class="flex justify-between">
      <span>
        <strong>{operation}</strong> ·{" "}
        {workspace === undefined ? "every workspace" : <Text>{workspace}</Text>}
        <br />
        {nameOf(kind)} {typeof fault === "object" && <Code>{JSON.stringify(fault)}</Code>}
        <br />
        <span class="text-light">
          {every > 1 && `one in ${every} calls · `}
          {left === null && "until removed · "}
          {left !== null && `${left} left · `}
          matched {matched}
        </span>
      </span>
      <Remove short="×" label={`Remove fault ${number}`} route={["faults", id]} />
    </li>
  );
}

/** A button that disappears with its fault, so it moves the focus to the form first. */
function Remove({ route, ...tool }: { route: string[] } & Pick<ToolProps, "label" | "short">) {
  function remove({ currentTarget }: TargetedMouseEvent<HTMLButtonElement>): Promise<unknown> {
    moveFocus(currentTarget, "dialog", "form button");
    return send("DELETE", route);
  }
  return <Tool {...tool} action={remove} />;
}
