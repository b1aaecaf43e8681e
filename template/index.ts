import * as pulumi from "@pulumi/pulumi";
import { Instance, Project } from "pulumi-cloudinfra";

const region = new pulumi.Config().get("region") ?? "eu-1";

const project = new Project("main", { region });

const web = new Instance("web", {
  project: project.id,
  image: "debian-13",
  flavor: "small",
  network: "default",
  publicIp: "auto",
  sshKeys: [], // public keys that can log in, such as "ssh-ed25519 AAAA… me@laptop"
});

/** The public address of the instance. */
export const address = web.ipAddress;
