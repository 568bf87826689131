import { dismiss, errors } from "../errors.js";
import { Tool } from "./buttons.js";
import { visibleText } from "./untrusted.js";

/** The region exists even without errors: otherwise, a screen reader would not announce the first one. */
export function Errors() {
  return (
    <div class="errors" role="alert" data-testid="error">
      {errors.value.map((text) => (
        <div key={text} class="card flex justify-between">
          <p>{visibleText(text)}</p>
          <Tool short="×" label="Dismiss" action={() => dismiss(text)} />
        </div>
      ))}
    </div>
  );
}
