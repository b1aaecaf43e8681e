import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, isIPv4 } from "node:net";

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** The port, which can be opened and closed again. */
export class Listener {
  private readonly server: Server;
  private address: AddressInfo | undefined;

  constructor(
    onRequest: RequestListener,
    private readonly host: string,
    private readonly wantedPort: number,
  ) {
    // Only the client closes idle connections: if the server did, it would race with the next request.
    this.server = createServer({ keepAliveTimeout: 600_000 }, onRequest);
  }

  /** Origin of the service for clients on this machine. */
  get url(): string {
    const host = this.host === "0.0.0.0" ? "127.0.0.1" : this.host === "::" ? "::1" : this.host;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.address?.port ?? this.wantedPort}`;
  }

  /** Opens the port, the same one as before. Rejects with the error of the system, for example EADDRINUSE. */
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
