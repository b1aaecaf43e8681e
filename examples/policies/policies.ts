import { type ResourceValidationPolicy, validateResourceOfType } from "@pulumi/policy";
import { Instance } from "pulumi-cloudinfra";

/** Rejects instances with a public address. */
export const noPublicIp = {
  name: "no-public-ip",
  description: "Instances must not have public addresses. All traffic must go through the load balancer.",
  enforcementLevel: "mandatory",
  validateResource: validateResourceOfType(Instance, ({ publicIp }, { name }, reportViolation) => {
    if (publicIp !== undefined && publicIp !== "none") {
      reportViolation(`${name} has publicIp "${publicIp}". Remove the argument, or set it to "none".`);
    }
  }),
} satisfies ResourceValidationPolicy;
