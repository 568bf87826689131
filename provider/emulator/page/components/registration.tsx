import type { ComponentChildren } from "preact";
import type { WorkspaceView } from "../../control/shapes.js";
import { changeWorkspace } from "../actions.js";
import { readInClear } from "../api.js";
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
        <Value name="url" workspace={workspace} />
        <Value name="botUrl" workspace={workspace} />
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
          <Value name="baseUrl" workspace={workspace} />
          <Value name="apiKey" workspace={workspace} />
          <Value name="flowApiKey" workspace={workspace} />
          <Value name="key" workspace={workspace} />
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

const VALUES = {
  url: ({ registration }) => registration?.webhook_url ?? "",
  key: ({ registration }) => registration?.webhook_verification_key ?? "",
  botUrl: ({ registration }) => registration?.bot_url ?? "",
  baseUrl: ({ baseUrl }) => baseUrl,
  apiKey: ({ apiKey }) => apiKey,
  flowApiKey: ({ flowApiKey }) => flowApiKey,
} satisfies Record<string, (workspace: WorkspaceView) => string>;

/** Shown as the page has it, and copied in clear. */
function Value({ name, workspace }: { name: keyof typeof VALUES; workspace: WorkspaceView }) {
  const label = t(`registration.${name}`);
  const read = VALUES[name];
  const value = read(workspace);
  if (value === "") return <Fact name={label}>–</Fact>;
  return (
    <Fact name={label}>
      <span class="mono">
        <Text>{value}</Text>
      </span>
      <CopyButton
        compact
        label={t("copy.copyOf", { what: label })}
        text={async () => read(await readInClear(["workspaces", workspace.name]))}
        done={t("copy.inClear")}
      />
    </Fact>
  );
}
