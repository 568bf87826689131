import { useSignal } from "@preact/signals";
import type { FaultView } from "../../control/shapes.js";
import { FAULT_OPERATIONS } from "../../fault-names.js";
import type { FaultOperation } from "../../faults.js";
import { send } from "../api.js";
import { faultKindsOf, faultRuleOf, hasMoment, type FaultFields } from "../fault-input.js";
import { t } from "../i18n/translate.js";
import { attempt } from "../notices.js";
import { data } from "../store.js";
import { IconButton, moveFocus, Tool } from "./buttons.js";
import { Dialog } from "./dialog.js";
import { Check, Field, Form, Select } from "./field.js";
import { Text } from "./text.js";

/** Injects faults, and lists them. */
export function FaultPanel({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog title={t("faults.title")} open={open} onClose={onClose}>
      <FaultForm />
      <FaultList faults={data.value.faults} />
    </Dialog>
  );
}

/** Whether it can still match a call. */
export const isActive = ({ left }: FaultView): boolean => left !== 0;

/** Describes a fault: which calls it matches, what goes wrong, and how often. */
function FaultForm() {
  const fields = useSignal<FaultFields>({
    operation: "message",
    workspace: data.peek().scope.workspace ?? "",
    kind: "status",
    status: "500",
    delayMs: "3000",
    statusField: "error",
    afterChange: false,
    times: "1",
    probability: "",
    seed: "1",
  });
  const { operation, workspace, kind, afterChange, ...texts } = fields.value;
  const set = (part: Partial<FaultFields>) => void (fields.value = { ...fields.value, ...part });
  const input = (name: keyof typeof texts) => ({
    value: texts[name],
    onInput: (text: string) => set({ [name]: text }),
    testId: `fault-${name}`,
  });
  const number = (name: keyof typeof texts) => ({ ...input(name), type: "number" as const, min: 0 });
  const workspaces = [...data.value.workspaces.keys()].map((name) => [name, name] as const);
  function chooseOperation(chosen: FaultOperation): void {
    set({ operation: chosen, kind: faultKindsOf(chosen).includes(kind) ? kind : "status" });
  }
  return (
    <Form label={t("faults.title")} action={() => send("POST", ["faults"], faultRuleOf(fields.value))}>
      <p>{t("faults.explain")}</p>
      <div class="pairs">
        <Select
          label={t("faults.operation")}
          value={operation}
          options={FAULT_OPERATIONS.map((name) => [name, t(`faults.operation.${name}`)])}
          onChange={chooseOperation}
          testId="fault-operation"
        />
        <Select
          label={t("faults.workspace")}
          value={workspace}
          options={[["", t("faults.anyWorkspace")], ...workspaces]}
          onChange={(chosen) => set({ workspace: chosen })}
        />
        <Select
          label={t("faults.kind")}
          value={kind}
          options={faultKindsOf(operation).map((name) => [name, t(`faults.kind.${name}`)])}
          onChange={(chosen) => set({ kind: chosen })}
          testId="fault-kind"
        />
        {kind === "status" && (
          <Field label={t("faults.kind.status")} {...number("status")} min={200} max={599} required />
        )}
        {kind === "delay" && <Field label={t("faults.delayMs")} {...number("delayMs")} required />}
        {kind === "statusField" && <Field label={t("faults.statusField")} {...input("statusField")} />}
        {hasMoment(kind) && (
          <Check checked={afterChange} onChange={(checked) => set({ afterChange: checked })}>
            {t("faults.afterChange")}
          </Check>
        )}
        <Field label={t("faults.times")} hint={t("faults.timesHint")} {...number("times")} min={1} />
        <Field
          label={t("faults.probability")}
          hint={t("faults.probabilityHint")}
          {...number("probability")}
          max={1}
          step="any"
        />
        {texts.probability !== "" && <Field label={t("faults.seed")} {...number("seed")} />}
      </div>
      <footer>
        <button data-testid="fault-add">{t("faults.add")}</button>
      </footer>
    </Form>
  );
}

function FaultList({ faults }: { faults: readonly FaultView[] }) {
  const active = faults.filter(isActive);
  const spent = faults.filter((fault) => !isActive(fault));
  return (
    <section class="vstack gap-2" aria-label={t("faults.list")}>
      <div class="hstack justify-between">
        <h3>{t("faults.list")}</h3>
        {faults.length > 0 && (
          <Tool
            label={t("faults.clear")}
            action={({ currentTarget }) => {
              moveFocus(currentTarget, "dialog", "form button");
              return send("DELETE", ["faults"]);
            }}
          />
        )}
      </div>
      {active.length === 0 && <p class="text-light">{t("faults.none")}</p>}
      <ol data-testid="faults">
        {active.map((fault, index) => (
          <FaultItem key={fault.id} fault={fault} number={index + 1} />
        ))}
      </ol>
      {spent.length > 0 && (
        <details>
          <summary>{t("faults.spent", { count: spent.length })}</summary>
          <ol data-testid="spent-faults">
            {spent.map((fault, index) => (
              <FaultItem key={fault.id} fault={fault} number={active.length + index + 1} />
            ))}
          </ol>
        </details>
      )}
    </section>
  );
}

function FaultItem({ fault, number }: { fault: FaultView; number: number }) {
  const { id, operation, workspace, left, matched } = fault;
  return (
    <li class="flex justify-between">
      <span>
        <strong>{t(`faults.operation.${operation}`)}</strong> ·{" "}
        {workspace === undefined ? t("faults.anyWorkspace") : <Text>{workspace}</Text>}
        <br />
        <code>
          <Text>{typeof fault.fault === "string" ? fault.fault : JSON.stringify(fault.fault)}</Text>
        </code>
        <br />
        <span class="text-light">
          {left === null && `${t("faults.endless")} · `}
          {left !== null && left > 0 && `${t("faults.left", { count: left })} · `}
          {t("faults.matched", { count: matched })}
        </span>
      </span>
      <IconButton
        icon="close"
        label={t("faults.remove", { number })}
        onClick={({ currentTarget }) => {
          moveFocus(currentTarget, "dialog", "form button");
          void attempt(() => send("DELETE", ["faults", id]));
        }}
      />
    </li>
  );
}
