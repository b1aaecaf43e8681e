import * as cloudflare from "@pulumi/cloudflare";
import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const zoneId = new pulumi.Config().require("zoneId");

const project = new Project("shop", { region: "eu-1" });

const web = new Instance("web", {
  project: project.id,
  image: "debian-13",
  flavor: "small",
  network: "default",
  publicIp: "auto",
});

const record = new cloudflare.DnsRecord("web", {
  zoneId,
  name: "shop",
  type: "A",
  content: web.ipAddress,
  ttl: 300,
});

export const hostname = record.name;
