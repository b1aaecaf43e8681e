import { describe, expect, test } from "vitest";
import { Sessions } from "../../src/provider/context";

const stack =
  (texts: Readonly<Record<string, string>>) =>
  (key: string): string | undefined =>
    texts[key];
const good = { "cloudinfra:endpoint": "https://api.example.com/v1/", "cloudinfra:token": "t-1" };

describe("the session of a process", () => {
  test("is opened by the first call and shared by all calls", () => {
    const sessions = new Sessions({});
    sessions.configure(stack(good));
    expect(sessions.open()).toBe(sessions.open());
    expect(sessions.open().client.endpoint).toBe("https://api.example.com/v1");
  });

  test("can get all settings from the environment", () => {
    const sessions = new Sessions({ CLOUDINFRA_ENDPOINT: "http://127.0.0.1:1", CLOUDINFRA_TOKEN: "t-1" });
    expect(sessions.open().settings.token.source).toBe("the environment variable CLOUDINFRA_TOKEN");
  });

  test("is opened by the next call after missing settings were set", () => {
    const sessions = new Sessions({});
    sessions.configure(stack({}));
    expect(() => sessions.open()).toThrow(
      "the required setting cloudinfra:endpoint (the address of the service) is not set",
    );
    sessions.configure(stack(good));
    expect(sessions.open().settings.endpoint).toBe(good["cloudinfra:endpoint"]);
  });

  test("is shared by projects and instances, which the host configures separately", () => {
    const sessions = new Sessions({});
    sessions.configure(stack(good));
    const first = sessions.open();
    sessions.configure(stack({ ...good }));
    expect(sessions.open()).toBe(first);
  });
});
