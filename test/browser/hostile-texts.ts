import { ALARM } from "./problems.ts";

/** Every text would raise the alarm if it became markup, an attribute, a template or an address that is followed. */
const TEXTS = [
  `<img src=x onerror="${ALARM}('img')">`,
  `<script>${ALARM}('script')</script>`,
  `"><svg onload="${ALARM}('svg')">`,
  `' onfocus='${ALARM}(1)' autofocus='`,
  `</textarea></title></style><iframe srcdoc="<script>parent.${ALARM}('iframe')</script>"></iframe>`,
  `<a href="javascript:${ALARM}('link')">x</a>`,
  `{{constructor.constructor('${ALARM}(1)')()}}`,
  `\${${ALARM}('template')}`,
];

/** All of them in one text, for the places where any text can stand. */
export const HOSTILE = TEXTS.join(" ");

/** Addresses that must stay text. */
export const HOSTILE_ADDRESSES = [
  `javascript:${ALARM}('address')`,
  `JaVaScRiPt:${ALARM}('case')`,
  `java\tscript:${ALARM}('tab')`,
  ` javascript:${ALARM}('space')`,
  `data:text/html,<script>parent.${ALARM}('data')</script>`,
  `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" onload="${ALARM}('svg')"/>`,
  `vbscript:${ALARM}(1)`,
  "file:///etc/passwd",
  "blob:http://127.0.0.1/0",
  "//127.0.0.1/relative",
  "/_emulator/relative",
  "http:relative",
];

/** An address that is one, and would end an attribute that it is pasted into. */
export const hostilePath = (origin: string): string => `${origin}/"><svg/onload="${ALARM}('path')">.png`;
