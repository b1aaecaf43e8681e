import { expect, test } from "vitest";
import { changed, existingInstance, failureOf, startService } from "../service";

test("a secret that an update replaces is not in its error", async () => {
  const service = await startService();
  const saved = await existingInstance(service, { flavor: "s3cret-old", __secrets: ["flavor"] });
  service.emulator.refuseUpdatesOf("flavor", { detail: "s3cret-old can't become s3cret-new" });
  const news = changed(saved, { flavor: "s3cret-new" });
  const { message } = await failureOf(service.instances.update(saved.id, saved.state, news));
  expect(message).toContain("[secret]");
  expect(message).not.toContain("s3cret-");
});
