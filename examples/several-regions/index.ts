import { Instance, Project } from "pulumi-cloudinfra";

/** Where the shop is, and the profile of settings that leads there: at home those of the stack itself. */
const places = {
  home: { region: "us-1" },
  eu: { region: "eu-1", profile: "eu" },
};

function shop(place: keyof typeof places) {
  const { region, ...profile } = places[place];
  const project = new Project(`shop-${place}`, { region, ...profile });
  return new Instance(`web-${place}`, {
    ...profile, // always that of its project
    project: project.id,
    image: "debian-13",
    flavor: "small",
    network: "default",
    publicIp: "auto",
  });
}

/** Where the shop can be reached. */
export const addresses = { home: shop("home").ipAddress, eu: shop("eu").ipAddress };
