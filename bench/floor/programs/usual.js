const pulumi = require("@pulumi/pulumi");
const undici = require("undici");
const uuid = require("uuid");

const config = new pulumi.Config("cloudinfra");

/** A typical client: part of the provider's closure, with a constant polling interval. */
class Client {
  constructor(endpoint, token) {
    this.endpoint = endpoint;
    this.token = token;
  }

  async send(method, url, body, headers) {
    const response = await undici.request(new URL(url, `${this.endpoint}/`), {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        "content-type": "application/json",
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode >= 400) throw new Error(`${method} ${url}: ${response.statusCode} ${text}`);
    return { headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  }

  async create(collection, body) {
    const reply = await this.send("POST", `${this.endpoint}/${collection}`, body, {
      "idempotency-key": uuid.v4(),
    });
    if (reply.headers.location === undefined) return reply.body;
    for (;;) {
      const { body: operation } = await this.send("GET", reply.headers.location);
      if (operation.status === "done") return (await this.send("GET", operation.result_url)).body;
      if (operation.status !== "pending" && operation.status !== "running")
        throw new Error(JSON.stringify(operation.error));
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** The provider of both resource types, which differ only in the collection and the field names. */
class Provider {
  constructor(client, collection, fields) {
    this.client = client;
    this.collection = collection;
    this.fields = fields;
  }

  body(inputs) {
    return Object.fromEntries(
      Object.entries(this.fields)
        .filter(([name]) => inputs[name] !== undefined)
        .map(([name, field]) => [field, inputs[name]]),
    );
  }

  outputs(inputs, object) {
    const { status, revision } = object;
    // An `undefined` in outputs fails the call.
    return {
      ...inputs,
      ...(status !== undefined && { status }),
      ...(revision !== undefined && { revision }),
    };
  }

  async create(inputs) {
    const object = await this.client.create(this.collection, this.body(inputs));
    return { id: object.id, outs: this.outputs(inputs, object) };
  }

  async diff(_id, olds, news) {
    const changed = Object.keys(this.fields).filter(
      (name) => JSON.stringify(olds[name]) !== JSON.stringify(news[name]),
    );
    return {
      changes: changed.length > 0,
      replaces: changed.filter((name) => ["project", "image", "region"].includes(name)),
    };
  }

  async read(id, props) {
    const { body } = await this.client.send("GET", `${this.client.endpoint}/${this.collection}/${id}`);
    return { id, props: this.outputs(props, body) };
  }

  async update(id, olds, news) {
    const { body } = await this.client.send(
      "PUT",
      `${this.client.endpoint}/${this.collection}/${id}`,
      this.body(news),
      { "if-match": `"${olds.revision}"` },
    );
    return { outs: this.outputs(news, body) };
  }

  async delete(id) {
    await this.client.send("DELETE", `${this.client.endpoint}/${this.collection}/${id}`);
  }
}

const client = new Client(config.require("endpoint"), config.require("token"));
const projects = new Provider(client, "projects", { name: "name", region: "region" });
const instances = new Provider(client, "instances", {
  ...{ project: "project", name: "name", image: "image", flavor: "flavor" },
  ...{ network: "network", publicIp: "public_ip", sshKeys: "ssh_keys", labels: "labels" },
});

/** The usual way: a `dynamic.Resource`, which serializes the whole provider into the state of each resource. */
exports.Project = class Project extends pulumi.dynamic.Resource {
  constructor(name, args, options) {
    super(projects, name, args, options);
  }
};

exports.Instance = class Instance extends pulumi.dynamic.Resource {
  constructor(name, args, options) {
    super(instances, name, args, options);
  }
};
