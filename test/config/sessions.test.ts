import { describe, expect, test } from "vitest";
import { Sessions } from "../../src/provider/session";

const stack =
  (texts: Readonly<Record<string, string>>) =>
  (key: string): string | undefined =>
    texts[key];
const good = { "cloudinfra:endpoint": "https://api.example.com/v1/", "cloudinfra:token": "t-1" };

describe("the session of a process", () => {
  test("is one for all calls, opened by the first", () => {
    const sessions = new Sessions({});
    sessions.configure(stack(good));
    expect(sessions.open()).toBe(sessions.open());
    expect(sessions.open().client.endpoint).toBe("https://api.example.com/v1");
  });

  test("needs no stack where the environment has it all", () => {
    const sessions = new Sessions({ CLOUDINFRA_ENDPOINT: "http://127.0.0.1:1", CLOUDINFRA_TOKEN: "t-1" });
    expect(sessions.open().settings.token.source).toBe("the variable CLOUDINFRA_TOKEN");
  });

  test("is opened by the next call where settings were missing", () => {
    const sessions = new Sessions({});
    sessions.configure(stack({}));
    expect(() => sessions.open()).toThrow("cloudinfra:endpoint is not set");
    sessions.configure(stack(good));
    expect(sessions.open().settings.endpoint).toBe(good["cloudinfra:endpoint"]);
  });

  test("is shared by both kinds, each of which the host configures: its limits and sightings are the process's", () => {
    const sessions = new Sessions({});
    sessions.configure(stack(good));
    const first = sessions.open();
    sessions.configure(stack({ ...good }));
    expect(sessions.open()).toBe(first);
  });
});
