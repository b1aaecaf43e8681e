import { PolicyPack } from "@pulumi/policy";
import { noPublicIp } from "./policies";

new PolicyPack("shop", { policies: [noPublicIp] });
