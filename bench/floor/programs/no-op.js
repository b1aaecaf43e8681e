const { CustomResource } = require("@pulumi/pulumi");
const path = require("node:path");

const provider = JSON.stringify(path.join(__dirname, "no-op-provider.js"));
const __provider = `exports.handler=()=>require(${provider}).noOp`;

/** The floor: Pulumi's own time for a resource of this kind. */
exports.Project = class Project extends CustomResource {
  constructor(name, args, options) {
    super("pulumi-nodejs:dynamic/bench:Project", name, { ...args, __provider }, options);
  }
};

exports.Instance = class Instance extends CustomResource {
  constructor(name, args, options) {
    super("pulumi-nodejs:dynamic/bench:Instance", name, { ...args, sleeps: true, __provider }, options);
  }
};
