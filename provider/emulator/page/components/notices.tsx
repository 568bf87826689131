import { t } from "../i18n/translate.js";
import { dismiss, notices, type Notice } from "../notices.js";
import { IconButton } from "./buttons.js";
import { Text } from "./text.js";

/** Errors interrupt a screen reader, success messages wait. Both regions always exist: otherwise they would not be read. */
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
  return shown.map(({ id, text }) => (
    <div key={id} class={`card flex justify-between ${kind}`}>
      <p>
        <Text>{text}</Text>
      </p>
      <IconButton icon="close" label={t("app.dismiss")} onClick={() => dismiss(id)} />
    </div>
  ));
}
