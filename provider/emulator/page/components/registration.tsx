import { useSignal } from "@preact/signals";
import type { WorkspaceView } from "../../control/shapes.js";
import { IN_CLEAR, read, send } from "../api.js";
import { t } from "../i18n/translate.js";
import { attempt, showDone } from "../notices.js";
import { flows } from "../store.js";
import { CopyButton, Tool } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { bound, Check, Field, Form, Select } from "./field.js";
import { Text } from "./text.js";

/** The registration of a workspace, its keys and addresses, and the flow that replies in it. */
export function Registration({ workspace }: { workspace: WorkspaceView }) {
  const { name, registration, flow, mayManageFlow } = workspace;
  const change = (part: Partial<Pick<WorkspaceView, "flow" | "mayManageFlow">>) =>
    attempt(() => send("PATCH", ["workspaces", name], part));
  // A function given in code is not in the list, but may be the flow that replies.
  const choices = [...new Set([...flows.value, flow])];
  return (
    <section class="card vstack gap-2" aria-label={t("wire.kind.registration")} data-testid="registration">
      <dl>
        <dt>{t("registration.status")}</dt>
        <dd>
          <StatusBadge status={registration?.webhook_status ?? ""} />
        </dd>
        <Value name="url" workspace={workspace} />
        <Value name="botUrl" workspace={workspace} />
      </dl>
      <Select
        label={t("registration.flow")}
        value={flow}
        options={choices.map((option) => [option, option])}
        onChange={(chosen) => change({ flow: chosen })}
        testId="flow"
      />
      <details>
        <summary>{t("registration.details")}</summary>
        <div class="vstack">
          <dl>
            <Value name="baseUrl" workspace={workspace} />
            <Value name="apiKey" workspace={workspace} />
            <Value name="flowApiKey" workspace={workspace} />
            <Value name="key" workspace={workspace} />
          </dl>
          <Check checked={mayManageFlow} onChange={(checked) => change({ mayManageFlow: checked })}>
            {t("registration.manage")}
          </Check>
          <DeleteWorkspace name={name} />
        </div>
      </details>
      <OutsideChange workspace={name} registered={(registration?.webhook_url ?? "") !== ""} />
    </section>
  );
}

/** The `webhook_status` as it is on the wire. */
export function StatusBadge({ status }: { status: string }) {
  if (status === "") return <span class="badge outline">{t("registration.none")}</span>;
  return (
    <span class="badge" data-variant={status === "verified" ? "success" : "warning"}>
      <Text>{status}</Text>
    </span>
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

/** Shown as the page has it, and copied in clear text. */
function Value({ name, workspace }: { name: keyof typeof VALUES; workspace: WorkspaceView }) {
  const label = t(`registration.${name}`);
  const valueOf = VALUES[name];
  const value = valueOf(workspace);
  return (
    <>
      <dt>{label}</dt>
      {value === "" && <dd>–</dd>}
      {value !== "" && (
        <dd class="flex justify-between">
          <code>
            <Text>{value}</Text>
          </code>
          <CopyButton
            compact
            label={t("copy.copyOf", { what: label })}
            text={async () => valueOf(await read<WorkspaceView>(["workspaces", workspace.name], IN_CLEAR))}
            done={t("copy.inClear")}
          />
        </dd>
      )}
    </>
  );
}

/** Deletes a workspace, after a question. */
function DeleteWorkspace({ name }: { name: string }) {
  const open = useSignal(false);
  return (
    <>
      <Tool label={t("workspaces.delete")} action={() => (open.value = true)} />
      <FormDialog
        title={t("workspaces.deleteTitle", { name })}
        open={open.value}
        onClose={() => (open.value = false)}
        action={() => send("DELETE", ["workspaces", name])}
        submit={t("workspaces.delete")}
        danger
      >
        <p>{t("workspaces.deleteExplain")}</p>
      </FormDialog>
    </>
  );
}

/** Registers or removes as another system would, to test how a program handles it. */
function OutsideChange({ workspace, registered }: { workspace: string; registered: boolean }) {
  const url = useSignal("https://somebody-else.example/webhook");
  const key = useSignal("somebody-elses-key");
  const route = ["workspaces", workspace, "registration"];
  async function register(): Promise<void> {
    await send("PUT", route, { webhook_url: url.value, webhook_verification_key: key.value });
    showDone(t("registration.outsideSetDone"));
  }
  async function remove(): Promise<void> {
    await send("DELETE", route);
    showDone(t("registration.outsideRemoveDone"));
  }
  return (
    <details>
      <summary>{t("registration.outside")}</summary>
      <Form class="vstack" action={register}>
        <small>{t("registration.outsideExplain")}</small>
        <Field label={t("registration.outsideUrl")} {...bound(url)} type="url" required />
        <Field label={t("registration.outsideKey")} {...bound(key)} required />
        <button class="outline small">{t("registration.outsideSet")}</button>
        <Tool label={t("registration.outsideRemove")} disabled={!registered} action={remove} />
      </Form>
    </details>
  );
}
