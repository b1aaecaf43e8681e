import { expect, test } from "vitest";
import { creationBody, updateBody } from "../../src/model/request-body";
import { instanceFields } from "../../src/model/resource-fields";
import { parseDesired, parseRecorded } from "../../src/model/state";
import { instanceNews } from "../provider/samples";

test.each(["constructor", "prototype", "toString"])("a label %s is sent like any other", (key) => {
  const body = creationBody(instanceFields, instanceNews({ labels: { [key]: "x" } }));
  expect(JSON.parse(body).labels).toEqual({ [key]: "x" });
});

test.each(["constructor", "toString", "valueOf"])("a label %s of somebody else is kept", (key) => {
  const current = { labels: { [key]: "theirs" } };
  const olds = parseRecorded(instanceNews({ labels: { a: "1" } }));
  const news = parseDesired(instanceNews({ labels: { a: "2" } }));
  expect(JSON.parse(updateBody(instanceFields, { olds, news, current, ignored: [] })).labels).toEqual({
    a: "2",
    [key]: "theirs",
  });
});
