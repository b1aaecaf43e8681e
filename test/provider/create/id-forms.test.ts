import { expect, test } from "vitest";
import { oneInstance } from "../one-instance";
import { errorOf } from "../service";

type Fields = Readonly<Record<string, unknown>>;

/** The forms of an id that lists may contain if the result link of an operation ends in `ins-1`. */
const FORMS: readonly [string, (id: string) => string][] = [
  ["in upper case", (id) => id.toUpperCase()],
  ["percent-encoded", (id) => id.replace("-", "%2D")],
  ["as a path", (id) => `/v1/instances/${id}`],
  ["as the path of a project's instance", (id) => `projects/p1/instances/${id}`],
  ["as a URL with a slash at the end", (id) => `https://api.example.com/v1/instances/${id}/`],
];

test.each(FORMS)(
  "an instance isn't created twice if only lists contain it, with its id %s",
  async (_form, formOf) => {
    const spelling = (instance: Fields, place: string): Fields =>
      place === "item" ? { ...instance, id: formOf(String(instance.id)) } : instance;
    const { service, web } = await oneInstance({ behaviour: { getObject: 405, spelling } });
    const [id] = await web.up().then((said) => {
      expect(said).toContain("but its links contain the id");
      return service.emulator.instances.keys();
    });
    expect(await errorOf(web.refresh())).toContain("but its links contain the id");
    expect(await web.up()).toContain("but its links contain the id");
    expect([...service.emulator.instances.keys()]).toEqual([id]);
  },
);
