import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.js";
import { data, wire } from "../store.js";
import { conversationOf, wireKindOf, type WireKind } from "../wire.js";
import { Check, Select } from "./field.js";
import { WireItem } from "./wire-item.js";

const SHOWN_AT_FIRST = 100;

const KINDS = ["all", "message", "delivery", "handshake", "registration"] as const;

/** What happened between the emulator and the program under test, newest first. */
export function Wire() {
  const kind = useSignal<WireKind | "all">("all");
  const onlyConversation = useSignal(false);
  const shown = useSignal(SHOWN_AT_FIRST);
  const { conversation } = data.value.scope;
  const entries = wire.value.filter(
    (entry) =>
      (kind.value === "all" || wireKindOf(entry) === kind.value) &&
      (!onlyConversation.value || conversation === null || conversationOf(entry) === conversation),
  );
  const older = Math.min(entries.length - shown.value, SHOWN_AT_FIRST);
  return (
    <>
      <div class="section-head">
        <h2>{t("wire.panel")}</h2>
        <Select
          label={t("wire.show")}
          value={kind.value}
          options={KINDS.map((name) => [name, t(`wire.kind.${name}`)])}
          onChange={(chosen) => (kind.value = chosen)}
          hideLabel
          testId="wire-kind"
        />
      </div>
      <div class="padded">
        <Check checked={onlyConversation.value} onChange={(checked) => (onlyConversation.value = checked)}>
          {t("wire.onlyConversation")}
        </Check>
      </div>
      {entries.length === 0 && <p class="muted padded">{t("wire.empty")}</p>}
      <ol class="wire" aria-label={t("wire.list")} data-testid="wire">
        {entries.slice(0, shown.value).map((entry) => (
          <WireItem key={`${entry.kind} ${entry.record.id}`} entry={entry} />
        ))}
      </ol>
      {older > 0 && (
        <button type="button" class="small older" onClick={() => (shown.value += SHOWN_AT_FIRST)}>
          {t("wire.older", { count: older })}
        </button>
      )}
    </>
  );
}
