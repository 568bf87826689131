import type { ComponentChildren } from "preact";
import type { WorkspaceView } from "../../control/shapes.js";
import { changeWorkspace } from "../actions.js";
import { t } from "../i18n/translate.js";
import { attempt } from "../notices.js";
import { settings } from "../store.js";
import { CopyButton } from "./copy-button.js";
import { DeleteWorkspace } from "./delete-workspace.js";
import { Check, Select } from "./field.js";
import { OutsideChange } from "./outside-change.js";
import { Text } from "./text.js";
import { StatusBadge } from "./workspace-panel.js";

/** What is registered for a workspace, its keys and addresses, and what replies in it. */
export function Registration({ workspace }: { workspace: WorkspaceView }) {
  const { name, registration, flow, mayManageFlow } = workspace;
  return (
    <section class="registration" aria-label={t("registration.heading")} data-testid="registration">
      <dl class="facts">
        <Fact name={t("registration.status")}>
          <StatusBadge status={registration?.webhook_status ?? ""} />
        </Fact>
        <Value name={t("registration.url")} value={registration?.webhook_url ?? ""} />
        <Value name={t("registration.botUrl")} value={registration?.bot_url ?? ""} />
      </dl>
      <Select
        label={t("registration.flow")}
        value={flow}
        options={flowOptions(flow)}
        onChange={(chosen) => attempt(() => changeWorkspace(name, { flow: chosen }))}
        testId="flow"
      />
      <details class="fold">
        <summary>{t("registration.details")}</summary>
        <dl class="facts">
          <Value name={t("registration.baseUrl")} value={workspace.baseUrl} />
          <Value name={t("registration.apiKey")} value={workspace.apiKey} />
          <Value name={t("registration.flowApiKey")} value={workspace.flowApiKey} />
          <Value name={t("registration.key")} value={registration?.webhook_verification_key ?? ""} />
        </dl>
        <Check
          checked={mayManageFlow}
          onChange={(checked) => attempt(() => changeWorkspace(name, { mayManageFlow: checked }))}
        >
          {t("registration.manage")}
        </Check>
        <DeleteWorkspace name={name} />
      </details>
      <OutsideChange workspace={name} registered={registration !== null && registration.webhook_url !== ""} />
    </section>
  );
}

/** A function given in code is not in the list, but may be what replies. */
function flowOptions(flow: string): (readonly [string, string])[] {
  return [...new Set([...settings.value.flows, flow])].map((name) => [name, name]);
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Value({ name, value }: { name: string; value: string }) {
  if (value === "") return <Fact name={name}>–</Fact>;
  return (
    <Fact name={name}>
      <span class="mono">
        <Text>{value}</Text>
      </span>
      <CopyButton compact label={t("copy.copyOf", { what: name })} text={() => value} />
    </Fact>
  );
}
