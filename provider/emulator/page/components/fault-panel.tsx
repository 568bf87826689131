import type { FaultView } from "../../control/shapes.js";
import { clearFaults, removeFault } from "../actions.js";
import { t } from "../i18n/translate.js";
import { moveFocus } from "../move-focus.js";
import { attempt } from "../notices.js";
import { data } from "../store.js";
import { Dialog } from "./dialog.js";
import { FaultForm } from "./fault-form.js";
import { Icon } from "./icon.js";
import { Text } from "./text.js";

/** Breaks the next calls, and shows what is broken. */
export function FaultPanel({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog title={t("faults.title")} open={open} onClose={onClose}>
      <p class="hint">{t("faults.explain")}</p>
      <FaultForm />
      <FaultList faults={data.value.faults} />
    </Dialog>
  );
}

/** Whether it may still strike. */
export const isActive = ({ left }: FaultView): boolean => left !== 0;

function FaultList({ faults }: { faults: readonly FaultView[] }) {
  const active = faults.filter(isActive);
  const spent = faults.filter((fault) => !isActive(fault));
  return (
    <section aria-label={t("faults.list")} class="faults">
      <div class="section-head">
        <h3>{t("faults.list")}</h3>
        {faults.length > 0 && (
          <button
            type="button"
            class="small"
            onClick={({ currentTarget }) => {
              moveFocus(currentTarget, "dialog", "form button");
              void attempt(clearFaults);
            }}
          >
            {t("faults.clear")}
          </button>
        )}
      </div>
      {active.length === 0 && <p class="muted">{t("faults.none")}</p>}
      <ol class="list" data-testid="faults">
        {active.map((fault, index) => (
          <FaultItem key={fault.id} fault={fault} number={index + 1} />
        ))}
      </ol>
      {spent.length > 0 && (
        <details class="fold">
          <summary>{t("faults.spent", { count: spent.length })}</summary>
          <ol class="list" data-testid="spent-faults">
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
  const { id, operation, workspace, left, struck } = fault;
  return (
    <li class="fault">
      <span>
        <strong>{t(`faults.operation.${operation}`)}</strong> ·{" "}
        {workspace === undefined ? t("faults.anyWorkspace") : <Text>{workspace}</Text>}
        <br />
        <code>
          <Text>{typeof fault.fault === "string" ? fault.fault : JSON.stringify(fault.fault)}</Text>
        </code>
        <br />
        <span class="muted">
          {left === null && `${t("faults.endless")} · `}
          {left !== null && left > 0 && `${t("faults.left", { count: left })} · `}
          {t("faults.struck", { count: struck })}
        </span>
      </span>
      <button
        type="button"
        class="quiet"
        aria-label={t("faults.remove", { number })}
        onClick={({ currentTarget }) => {
          moveFocus(currentTarget, "dialog", "form button");
          void attempt(() => removeFault(id));
        }}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}
