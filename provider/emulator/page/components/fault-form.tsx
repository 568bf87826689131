import { useSignal } from "@preact/signals";
import { addFault } from "../actions.js";
import type { FaultOperation } from "../../faults.js";
import { FAULT_OPERATIONS, faultKindsOf, faultRuleOf, hasMoment, type FaultKind } from "../fault-input.js";
import { t } from "../i18n/translate.js";
import { data } from "../store.js";
import { Check, Field, Select } from "./field.js";
import { Form } from "./form.js";

/** Describes a fault: what it strikes, what goes wrong, and how often. */
export function FaultForm() {
  const operation = useSignal<FaultOperation>("message");
  const kind = useSignal<FaultKind>("status");
  const workspace = useSignal(data.peek().scope.workspace ?? "");
  const status = useSignal("500");
  const delayMs = useSignal("3000");
  const statusField = useSignal("error");
  const afterChange = useSignal(false);
  const times = useSignal("1");
  const probability = useSignal("");
  const seed = useSignal("1");
  function chooseOperation(chosen: FaultOperation): void {
    operation.value = chosen;
    if (!faultKindsOf(chosen).includes(kind.value)) kind.value = "status";
  }
  const inject = () =>
    addFault(
      faultRuleOf({
        operation: operation.value,
        workspace: workspace.value,
        kind: kind.value,
        status: status.value,
        delayMs: delayMs.value,
        statusField: statusField.value,
        afterChange: afterChange.value,
        times: times.value,
        probability: probability.value,
        seed: seed.value,
      }),
    );
  return (
    <Form class="stack" label={t("faults.title")} action={inject}>
      <div class="pair">
        <Select
          label={t("faults.operation")}
          value={operation.value}
          options={FAULT_OPERATIONS.map((name) => [name, t(`faults.operation.${name}`)])}
          onChange={chooseOperation}
          testId="fault-operation"
        />
        <Select
          label={t("faults.workspace")}
          value={workspace.value}
          options={[
            ["", t("faults.anyWorkspace")],
            ...[...data.value.workspaces.keys()].map((name) => [name, name] as const),
          ]}
          onChange={(chosen) => (workspace.value = chosen)}
          testId="fault-workspace"
        />
        <Select
          label={t("faults.kind")}
          value={kind.value}
          options={faultKindsOf(operation.value).map((name) => [name, t(`faults.kind.${name}`)])}
          onChange={(chosen) => (kind.value = chosen)}
          testId="fault-kind"
        />
        {kind.value === "status" && (
          <Field
            label={t("faults.status")}
            value={status}
            type="number"
            min={200}
            max={599}
            required
            testId="fault-status"
          />
        )}
        {kind.value === "delay" && (
          <Field
            label={t("faults.delayMs")}
            value={delayMs}
            type="number"
            min={0}
            required
            testId="fault-delay"
          />
        )}
        {kind.value === "statusField" && <Field label={t("faults.statusField")} value={statusField} />}
      </div>
      {hasMoment(kind.value) && (
        <Check checked={afterChange.value} onChange={(checked) => (afterChange.value = checked)}>
          {t("faults.afterChange")}
        </Check>
      )}
      <div class="pair">
        <Field
          label={t("faults.times")}
          hint={t("faults.timesHint")}
          value={times}
          type="number"
          min={1}
          testId="fault-times"
        />
        <Field
          label={t("faults.probability")}
          hint={t("faults.probabilityHint")}
          value={probability}
          type="number"
          min={0}
          max={1}
          step="any"
          testId="fault-probability"
        />
        {probability.value !== "" && <Field label={t("faults.seed")} value={seed} type="number" min={0} />}
      </div>
      <div class="row end">
        <button class="primary" data-testid="fault-add">
          {t("faults.add")}
        </button>
      </div>
    </Form>
  );
}
