import { t } from "../i18n/translate.js";
import { dismiss, notices, type Notice } from "../notices.js";
import { Icon } from "./icon.js";
import { Text } from "./text.js";

/** Errors interrupt a screen reader, what was done waits for it. Both regions are always there, so that they are heard. */
export function Notices() {
  return (
    <div class="notices">
      <div role="alert" data-testid="errors">
        <Items kind="error" />
      </div>
      <div role="status" data-testid="done">
        <Items kind="done" />
      </div>
    </div>
  );
}

function Items({ kind }: { kind: Notice["kind"] }) {
  const shown = notices.value.filter((notice) => notice.kind === kind);
  return shown.map((notice) => <Item key={notice.id} {...notice} />);
}

function Item({ id, kind, text }: Notice) {
  return (
    <div class={`notice ${kind}`}>
      <p>
        <Text>{text}</Text>
      </p>
      <button type="button" class="quiet" aria-label={t("app.dismiss")} onClick={() => dismiss(id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
