/**
 * Absolute, as schema/ requires: `http:example`, `//example` and `/path` would be resolved against this page.
 * No control characters, because the URL parser drops some: the page would then show one address and open
 * another.
 */
const SAFE = /^https?:\/\/[^\s/?#\p{Cc}]\P{Cc}*$/iu;

/** The address in the parser's spelling if it may become a link or a medium of this page; null for anything else. */
export function safeUrl(text: string): string | null {
  return SAFE.test(text) ? (URL.parse(text)?.href ?? null) : null;
}

/**
 * Control characters except tab and line feed, and characters that embed, override or isolate the writing
 * direction: they can disguise a text. Marks such as U+200E and the joiners are kept, because scripts and
 * emojis need them.
 */
const DECEIVING = /(?![\t\n])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;

/** The text with deceptive characters written out, such as `⟨U+202E⟩`. */
export function visibleText(text: string): string {
  return text.replaceAll(DECEIVING, (char) => {
    const code = char.charCodeAt(0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}

/** Untrusted text. It hides nothing, and does not change the writing direction of its surroundings. */
export function Text({ children }: { children: string }) {
  return <bdi>{visibleText(children)}</bdi>;
}

/** An address, key or other text for programs. */
export function Code({ children }: { children: string }) {
  return (
    <code>
      <Text>{children}</Text>
    </code>
  );
}

/** A link to a new tab, which learns nothing about this page. An address that is not safe is shown as text. */
export function Link({ url }: { url: string }) {
  const safe = safeUrl(url);
  if (safe === null) {
    return (
      <p data-testid="unsafe-url">
        <small>Not an http or https address, shown as text:</small> <Code>{url}</Code>
      </p>
    );
  }
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer" referrerpolicy="no-referrer">
      <Text>{safe}</Text>
    </a>
  );
}
