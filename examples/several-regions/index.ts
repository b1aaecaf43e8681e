import * as pulumi from "@pulumi/pulumi";
import { Instance, Project, Provider } from "pulumi-cloudinfra";

const config = new pulumi.Config();

/** Provider for the second region. The first region uses the stack's configuration. */
const eu = new Provider("eu", {
  endpoint: config.require("euEndpoint"),
  token: config.requireSecret("euToken"),
});

function shop(place: string, region: string, opts: pulumi.CustomResourceOptions = {}) {
  const project = new Project(`shop-${place}`, { region }, opts);
  return new Instance(
    `web-${place}`,
    { project: project.id, image: "debian-13", flavor: "small", network: "default", publicIp: "auto" },
    opts, // an instance must use the same provider as its project
  );
}

/** Public addresses of the shops. */
export const addresses = {
  home: shop("home", "us-1").ipAddress,
  eu: shop("eu", "eu-1", { provider: eu }).ipAddress,
};
