import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { faultKinds } from "../../../src/emulator";
import { existingInstance, type Service, startService } from "../../provider/service";

describe("the emulator's page in a browser", () => {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const { startBrowser } = await import("./browser.js");
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());
  beforeEach(({ skip }) => skip(browser === undefined, "no browser"));

  async function openTab(width = 1280): Promise<Page> {
    if (browser === undefined) throw new Error("no browser");
    const page = await browser.newPage({ viewport: { width, height: 900 } });
    onTestFinished(() => page.close());
    return page;
  }

  /** Opens the page. If it reports an error, the test fails. */
  async function openPage({ emulator }: Service, width?: number): Promise<Page> {
    const page = await openTab(width);
    const errors: string[] = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    onTestFinished(() => expect(errors).toEqual([]));
    await page.goto(emulator.url);
    await page.locator("#connection", { hasText: emulator.endpoint }).waitFor();
    return page;
  }

  it("injects a fault with a button, and shows the retry of the creation with the same key", async () => {
    const service = await startService({ page: true });
    const page = await openPage(service);
    await page.getByText("No projects or instances yet.").waitFor();
    await page.getByLabel("Affect").selectOption("POST (creations)");
    await page.getByRole("button", { name: "lost-reply" }).click();
    await page.getByRole("status").getByText("Injected lost-reply into POST (creations).").waitFor();
    await page.getByText("lost-reply for POST · 0 of 1").waitFor();

    await existingInstance(service, { name: "<b>web</b>" });

    const object = page.getByRole("article").filter({ hasText: "<b>web</b>" });
    await object.getByText("running", { exact: true }).waitFor();
    await object
      .getByText(
        /^2 attempts: no reply \(lost-reply\), 202 · \d polls · done after 2\.00 s · overshoot \d+ ms$/,
      )
      .waitFor();
    await object.getByRole("img", { name: /^create: 2 attempts/ }).waitFor();
    const posts = page.getByRole("row").filter({ hasText: "POST" });
    const [retry = [], first = []] = (await posts.allInnerTexts()).map((row) => row.split("\t"));
    expect([first[1], first[4]]).toEqual(["POST /v1/instances", "no reply (lost-reply)"]);
    expect([retry[1], retry[4]]).toEqual(["POST /v1/instances", "202"]);
    expect(
      await page.getByTitle(service.emulator.requests[0]?.headers["idempotency-key"] ?? "").count(),
    ).toBe(2);
    expect(retry[2]).toMatch(/^[0-9a-f-]{12}…$/);
    expect(await page.getByText("None", { exact: true }).isVisible()).toBe(true);
    expect(service.emulator.instances.size).toBe(1);
  });

  it("shows the progress of a running operation, and ends it with a button", async () => {
    const service = await startService({ page: true });
    const page = await openPage(service);
    const { emulator } = service;
    const { endpoint, token } = emulator;
    const project = emulator.addProject();
    const body = {
      project: project.id,
      name: "web",
      image: "debian-13",
      flavor: "m1.small",
      network: "default",
    };
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    await fetch(`${endpoint}/instances`, { method: "POST", headers, body: JSON.stringify(body) });
    await page.getByText("202 · 0 polls · 0% of 2.00 s").waitFor();
    await page.getByText("1 operation running").waitFor();
    await page.getByRole("button", { name: "End all operations now" }).click();
    await page.getByText("202 · 0 polls · done after 0 ms · end not polled yet").waitFor();
  });

  it("has a button for each kind of fault, and ends a fault with the keyboard", async () => {
    const service = await startService({ page: true });
    const page = await openPage(service);
    const rules = await page
      .locator("[data-fault]")
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute("data-fault")));
    expect(new Set(rules.map((rule) => JSON.parse(rule ?? "").kind))).toEqual(new Set(faultKinds));
    await page.getByLabel("Times").selectOption("all");
    await page.getByRole("button", { name: "status 503" }).press("Enter");
    await page.getByRole("button", { name: "End fault status for POST" }).press("Enter");
    await page.getByRole("status").getByText("Ended status for POST.").waitFor();
    await page.getByText("None", { exact: true }).waitFor();
  });

  it.each([400, 1280])("fits a window of %i pixels", async (width) => {
    const service = await startService({ page: true });
    await existingInstance(service, { name: "w".repeat(200) });
    const page = await openPage(service, width);
    await page.getByRole("article").first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  });

  it("can't be used by another origin, even with a simple request", async () => {
    const service = await startService({ page: true });
    const other = await startService();
    const page = await openTab();
    await page.goto(`${other.emulator.url}/v1/projects`);
    const [reply] = await Promise.all([
      page.waitForResponse(`${service.emulator.url}/page/actions`),
      page.evaluate(`fetch("${service.emulator.url}/page/actions", {
        method: "POST", mode: "no-cors", body: JSON.stringify({ fault: { kind: "reset" } }),
      })`),
    ]);
    expect(reply.status()).toBe(403);
  });
});
