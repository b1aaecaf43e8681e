import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { createApp } from "./server";

/** The port: opened, closed for a while, closed for good. */
export class Listener {
  private readonly server: Server;
  private address: AddressInfo | undefined;

  constructor(
    app: ReturnType<typeof createApp>,
    private readonly host: string,
    private readonly wantedPort: number,
  ) {
    // The service may run in the process of somebody else's tests: their Request and Response stay as they are.
    const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
    // A connection that idles is the client's to close: a server that closes it first races with the next request.
    this.server = createServer(
      { keepAliveTimeout: 600_000 },
      (incoming, outgoing) => void listener(incoming, outgoing),
    );
  }

  /** Origin of the service, as a client on this machine reaches it. */
  get url(): string {
    const host = this.host === "0.0.0.0" ? "127.0.0.1" : this.host === "::" ? "::1" : this.host;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.address?.port ?? this.wantedPort}`;
  }

  /** Opens the port; the same one as before, if there was one. Rejects with the system's error, as EADDRINUSE. */
  open(): Promise<void> {
    if (this.server.listening) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(this.address?.port ?? this.wantedPort, this.host, () => {
        this.server.off("error", reject);
        const address = this.server.address();
        if (address !== null && typeof address !== "string") this.address = address;
        resolve();
      });
    });
  }

  /** Closes the port and drops every connection. */
  close(): Promise<void> {
    if (!this.server.listening) return Promise.resolve();
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
  }
}
