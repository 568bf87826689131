import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { EmulatorState } from "../emulator-state.js";
import { PAGE_PATH } from "./guard.js";
import { ControlRefusal } from "./refusal.js";

/** Refuses who shows neither the token nor the cookie that the page was given for it. Throws a ControlRefusal. */
export function assertAuthorized({ settings }: EmulatorState, incoming: IncomingMessage): void {
  const { token } = settings;
  if (token === undefined) return;
  const { authorization = "", cookie = "" } = incoming.headers;
  if (isEqual(authorization, `Bearer ${token}`)) return;
  const shown = cookieNamed(cookie, cookieName(incoming));
  if (shown !== undefined && isEqual(shown, ticketOf(token))) return;
  throw new ControlRefusal(
    401,
    "unauthorized",
    `the token is missing or wrong; send "Authorization: Bearer <token>", or open ${PAGE_PATH}?token=<token> in a browser`,
    { "www-authenticate": "Bearer" },
  );
}

/**
 * The answer to the page's address with a right `?token=`: a cookie in its place, and the same address without it, so that
 * it stays in no history. Undefined if there is none to take.
 */
export function exchangeToken({ settings }: EmulatorState, incoming: IncomingMessage): Response | undefined {
  const { token } = settings;
  const given = new URL(incoming.url ?? "", "http://emulator").searchParams.get("token");
  if (given === null) return undefined;
  const headers = new Headers({ location: PAGE_PATH, "cache-control": "no-store" });
  if (token !== undefined && isEqual(given, token)) {
    const cookie = `${cookieName(incoming)}=${ticketOf(token)}`;
    headers.set("set-cookie", `${cookie}; Path=/_emulator; HttpOnly; SameSite=Strict`);
  }
  return new Response(null, { status: 303, headers });
}

/** Cookies do not tell ports apart. */
const cookieName = ({ socket }: IncomingMessage): string => `apichat_emulator_${socket.localPort}`;

/** What the browser keeps: not the token itself, and the same after a restart. */
const ticketOf = (token: string): string => digest(`emulator page\n${token}`).toString("hex");

function cookieNamed(header: string, name: string): string | undefined {
  const pairs = header.split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Of digests, which are of equal length, so that it takes the same time whatever was sent. */
const isEqual = (given: string, wanted: string): boolean => timingSafeEqual(digest(given), digest(wanted));

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
