import { addFault, clearFaults, faultRule, removeFault } from "../../faults.js";
import { viewFault } from "../../fault-view.js";
import { findWorkspace, notFound, parseBody, type ControlHandler, type ControlRoute } from "../call.js";
import { answerControl } from "../refusal.js";

export const faultRoutes = {
  "GET /_emulator/faults": ({ state }) => answerControl(state.faults.map(viewFault)),

  "POST /_emulator/faults": (call) => {
    const rule = parseBody(faultRule, call);
    // A misspelt name would be a fault that never strikes.
    if (rule.workspace !== undefined) findWorkspace(call.state, rule.workspace);
    const id = addFault(call.state, rule);
    return answerControl(call.state.faults.filter((fault) => fault.id === id).map(viewFault)[0], {
      status: 201,
    });
  },

  "DELETE /_emulator/faults": ({ state }) => {
    clearFaults(state);
    return answerControl(undefined, { status: 204 });
  },

  "DELETE /_emulator/faults/{id}": ({ state, parameter }) => {
    if (!state.faults.some(({ id }) => id === parameter)) {
      throw notFound(`there is no fault ${JSON.stringify(parameter)}`);
    }
    removeFault(state, parameter);
    return answerControl(undefined, { status: 204 });
  },
} satisfies Partial<Record<ControlRoute, ControlHandler>>;
