import { useSignal } from "@preact/signals";
import { addFault } from "../actions.js";
import type { FaultOperation } from "../../faults.js";
import { FAULT_OPERATIONS, faultKindsOf, faultRuleOf, hasMoment, type FaultFields } from "../fault-input.js";
import { t } from "../i18n/translate.js";
import { data } from "../store.js";
import { Check, Field, Select } from "./field.js";
import { Form } from "./form.js";

/** Describes a fault: what it strikes, what goes wrong, and how often. */
export function FaultForm() {
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
  function chooseOperation(chosen: FaultOperation): void {
    set({ operation: chosen, kind: faultKindsOf(chosen).includes(kind) ? kind : "status" });
  }
  return (
    <Form class="stack" label={t("faults.title")} action={() => addFault(faultRuleOf(fields.value))}>
      <div class="pair">
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
          options={[
            ["", t("faults.anyWorkspace")],
            ...[...data.value.workspaces.keys()].map((name) => [name, name] as const),
          ]}
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
          <Field label={t("faults.status")} {...input("status")} type="number" min={200} max={599} required />
        )}
        {kind === "delay" && (
          <Field label={t("faults.delayMs")} {...input("delayMs")} type="number" min={0} required />
        )}
        {kind === "statusField" && <Field label={t("faults.statusField")} {...input("statusField")} />}
      </div>
      {hasMoment(kind) && (
        <Check checked={afterChange} onChange={(checked) => set({ afterChange: checked })}>
          {t("faults.afterChange")}
        </Check>
      )}
      <div class="pair">
        <Field
          label={t("faults.times")}
          hint={t("faults.timesHint")}
          {...input("times")}
          type="number"
          min={1}
        />
        <Field
          label={t("faults.probability")}
          hint={t("faults.probabilityHint")}
          {...input("probability")}
          type="number"
          min={0}
          max={1}
          step="any"
        />
        {texts.probability !== "" && (
          <Field label={t("faults.seed")} {...input("seed")} type="number" min={0} />
        )}
      </div>
      <div class="row end">
        <button class="primary" data-testid="fault-add">
          {t("faults.add")}
        </button>
      </div>
    </Form>
  );
}
