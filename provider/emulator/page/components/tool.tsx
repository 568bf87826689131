import { attempt } from "../notices.js";
import { Icon, type IconName } from "./icon.js";

interface Props {
  label: string;
  /** What a screen reader says in its place. */
  name?: string;
  icon?: IconName;
  /** Its failure is shown. */
  action: () => Promise<unknown>;
  testId?: string;
}

/** A small button that does something at once. */
export function Tool({ label, name, icon, action, testId }: Props) {
  return (
    <button
      type="button"
      class="small"
      aria-label={name}
      title={name}
      onClick={() => void attempt(action)}
      data-testid={testId}
    >
      {icon !== undefined && <Icon name={icon} />} {label}
    </button>
  );
}
