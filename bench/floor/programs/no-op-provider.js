/** A provider that sends no requests. `create` only sleeps as long as an operation of the service takes. */
const operationMs = Number(process.env.BENCH_OPERATION_MS ?? "0");

let made = 0;

exports.noOp = {
  async create(inputs) {
    if (inputs.sleeps) await new Promise((resolve) => setTimeout(resolve, operationMs));
    return { id: `no-op-${++made}`, outs: inputs };
  },
  async diff() {
    return { changes: false };
  },
  async read(id, props) {
    return { id, props };
  },
  async update(_id, _olds, news) {
    return { outs: news };
  },
  async delete() {},
};
