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

  test("is opened anew after a failure, and after other settings", () => {
    const sessions = new Sessions({});
    sessions.configure(stack({}));
    expect(() => sessions.open()).toThrow("cloudinfra:endpoint is not set");
    sessions.configure(stack(good));
    const first = sessions.open();
    sessions.configure(stack({ ...good, "cloudinfra:endpoint": "https://other.example.com" }));
    expect(sessions.open()).not.toBe(first);
    expect(sessions.open().client.endpoint).toBe("https://other.example.com/v1");
  });
});
