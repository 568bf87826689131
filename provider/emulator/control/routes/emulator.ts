import * as z from "zod";
import { VERSION } from "../../../lib/version.js";
import { resetState } from "../../reset.js";
import { switches } from "../../switches.js";
import { parseBody, parseQuery, type ControlHandler, type ControlRoute } from "../call.js";
import { answerEvents } from "../event-stream.js";
import { answerControl } from "../refusal.js";
import type { HealthView, SettingsView } from "../shapes.js";

const noQuery = z.strictObject({});
const resetBody = z.strictObject({ workspaces: z.boolean().default(false) });

/** What concerns the emulator as a whole. */
export const emulatorRoutes = {
  "GET /_emulator/health": ({ state }) => {
    const { directory, settings } = state;
    const health: HealthView = {
      status: "ok",
      version: VERSION,
      workspaces: directory.size,
      data: settings.data ?? null,
    };
    return answerControl(health);
  },

  "GET /_emulator/settings": ({ state }) => {
    const chosen = Object.entries(state.settings).filter(([name]) => Object.hasOwn(switches, name));
    const view: SettingsView = {
      switches: Object.fromEntries(chosen.flatMap(([name, value]) => flatten(name, value))),
      flows: [...state.flows.keys()],
    };
    return answerControl(view);
  },

  "GET /_emulator/events": (call) => {
    parseQuery(noQuery, call);
    return answerEvents(call, call.breakOff);
  },

  "POST /_emulator/reset": async (call) => {
    await resetState(call.state, parseBody(resetBody, call));
    return answerControl(undefined, { status: 204 });
  },
} satisfies Partial<Record<ControlRoute, ControlHandler>>;

/** A group of switches under the names of each, such as `handshake.encoding`. */
function flatten(name: string, value: unknown): [string, string | number | boolean][] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) => flatten(`${name}.${key}`, inner));
  }
  const isShown = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isShown ? [[name, value]] : [];
}
