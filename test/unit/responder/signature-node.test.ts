import { describeSignatureContract } from "./signature-contract.js";

describeSignatureContract("node:crypto");
