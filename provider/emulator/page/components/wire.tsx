import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.js";
import { data, exchanges, isLinked } from "../store.js";
import { conversationOf, holds, wireKindOf, type Exchange, type WireKind } from "../wire.js";
import { bound, BoundCheck, Field, Select } from "./field.js";
import { WireItem } from "./wire-item.js";

const SHOWN_AT_FIRST = 100;

const KINDS = ["all", "message", "delivery", "handshake", "registration"] as const;

/** The exchanges between the emulator and the program under test, newest first. */
export function Wire() {
  const kind = useSignal<WireKind | "all">("all");
  const onlyConversation = useSignal(false);
  const search = useSignal("");
  const shown = useSignal(SHOWN_AT_FIRST);
  const { conversation } = data.value.scope;
  const isWanted = (entry: Exchange): boolean =>
    (kind.value === "all" || wireKindOf(entry) === kind.value) &&
    (!onlyConversation.value || conversation === null || conversationOf(entry) === conversation) &&
    (search.value === "" || holds(entry, search.value));
  // A linked exchange is always shown.
  const entries = exchanges.value.filter((entry) => isLinked(entry) || isWanted(entry));
  const count = Math.max(shown.value, entries.findIndex(isLinked) + 1);
  const older = Math.min(entries.length - count, SHOWN_AT_FIRST);
  return (
    <>
      <div class="head hstack justify-between">
        <h2>{t("wire.panel")}</h2>
        <Select
          label={t("compose.kind")}
          value={kind.value}
          options={KINDS.map((name) => [name, t(`wire.kind.${name}`)])}
          onChange={(chosen) => (kind.value = chosen)}
          hideLabel
          testId="wire-kind"
        />
      </div>
      <div class="head vstack gap-2">
        <Field label={t("wire.search")} {...bound(search)} hideLabel />
        <BoundCheck signal={onlyConversation}>{t("wire.onlyConversation")}</BoundCheck>
      </div>
      {entries.length === 0 && (
        <p class="text-light p-4">{exchanges.value.length === 0 ? t("wire.empty") : t("wire.noMatch")}</p>
      )}
      <ol aria-label={t("wire.list")} data-testid="wire">
        {entries.slice(0, count).map((entry) => (
          <WireItem key={`${entry.kind} ${entry.record.id}`} entry={entry} />
        ))}
      </ol>
      {older > 0 && (
        <button
          type="button"
          class="outline small w-100"
          onClick={() => (shown.value = count + SHOWN_AT_FIRST)}
        >
          {t("wire.older", { count: older })}
        </button>
      )}
    </>
  );
}
