import type { HealthView } from "../../control/shapes.js";
import { resend } from "../actions.js";
import { writeAddress } from "../address.js";
import { call, readInClear, routeOf } from "../api.js";
import { curlCommand } from "../curl.js";
import { download } from "../download.js";
import { harOf } from "../har.js";
import { t } from "../i18n/translate.js";
import { conversationOf, curlRequestOf, segmentsOf, type WireEntry } from "../wire.js";
import { CopyButton } from "./copy-button.js";
import { EditDelivery } from "./edit-delivery.js";
import { Tool } from "./tool.js";

/** What can be done with an exchange. Copied is what was sent; saved, to be passed on, is what the page shows. */
export function WireTools({ entry }: { entry: WireEntry }) {
  const { kind, record } = entry;
  const { id, workspace } = record;
  async function copyCurl(): Promise<string> {
    const inClear = { kind, record: await readInClear(segmentsOf({ kind, id })) } as WireEntry;
    return curlCommand(curlRequestOf(inClear));
  }
  async function copyLink(): Promise<string> {
    const scope = { workspace, conversation: conversationOf(entry) };
    return new URL(writeAddress(scope, { kind, id }), location.href).href;
  }
  async function saveHar(): Promise<void> {
    const { version } = await call<HealthView>("GET", routeOf(["health"]));
    download(`${kind}-${id}.har`, harOf(entry, version));
  }
  return (
    <div class="row" role="group" aria-label={t("wire.tools")}>
      {kind === "delivery" && (
        <>
          <Tool label={t("wire.resend")} icon="again" action={() => resend(id)} testId="resend" />
          <Tool label={t("wire.sign")} icon="again" action={() => resend(id, { sign: true })} testId="sign" />
          <EditDelivery id={id} />
        </>
      )}
      <CopyButton label={t("wire.curl")} text={copyCurl} done={t("copy.inClear")} />
      <CopyButton label={t("copy.link")} icon="link" text={copyLink} />
      <Tool
        label="JSON"
        name={t("wire.save", { format: "JSON" })}
        icon="save"
        action={async () => download(`${kind}-${id}.json`, record)}
      />
      <Tool label="HAR" name={t("wire.save", { format: "HAR" })} icon="save" action={saveHar} />
    </div>
  );
}
