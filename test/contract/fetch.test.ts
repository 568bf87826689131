import { sendAsRequest } from "./fetch-driver.ts";
import { describeResponderContract } from "./responder-contract.ts";

describeResponderContract("fetch", sendAsRequest);
