import type { Page } from "playwright-core";

/** What stands on the page and can only have come from a text: elements, handlers and addresses that the page never makes. */
export function findIntruders(page: Page): Promise<string[]> {
  return page.locator("body, body *").evaluateAll((elements) => {
    const never = [
      "script",
      "iframe",
      "object",
      "embed",
      "style",
      "link",
      "base",
      "meta",
      "template",
      "math",
    ];
    const followed = ["href", "src", "action", "formaction", "srcdoc", "data", "xlink:href", "poster"];
    return elements.flatMap((element) => {
      const name = element.localName;
      const bad = [...element.attributes].filter(({ name: attribute, value }) => {
        if (attribute.startsWith("on")) return true;
        return followed.includes(attribute) && !/^(https?:\/\/|#chat$)/.test(value);
      });
      const found = bad.map((attribute) => `${name} ${attribute.name}=${attribute.value}`);
      if (never.includes(name)) found.push(name);
      if (name === "a" && element.target === "_blank" && element.rel !== "noopener noreferrer")
        found.push("a rel");
      return found;
    });
  });
}
