/** Puts an encoded query behind the URL's own query, which stays as written. */
export function appendQuery(url: string, query: string): string {
  const extended = new URL(url);
  extended.search += `${extended.search === "" ? "?" : "&"}${query}`;
  return extended.href;
}

/** Shows a URL as origin and path; user info is dropped and each query value becomes `***`. */
export function printUrl(url: string): string {
  if (!URL.canParse(url)) return "(not a URL)";
  const { origin, protocol, host, pathname, searchParams } = new URL(url);
  const names = [...new Set(searchParams.keys())].map((name) => `${encodeURIComponent(name)}=***`);
  const base = origin === "null" ? `${protocol}//${host}` : origin;
  return base + pathname + (names.length > 0 ? `?${names.join("&")}` : "");
}
