import type { CloudInfraError } from "../diagnostics/error";
import { hintFor } from "../diagnostics/hints";
import { fails, type Points, parts, point, works } from "./report";

/** The result of the probe's first request. */
export interface Access {
  readonly base: string;
  readonly tokenOrigin: string;
  readonly error?: CloudInfraError | undefined;
  /** The address of the API on the same host, if the configured endpoint is wrong. */
  readonly elsewhere?: string | undefined;
}

/** The points of the report that depend on the first request. */
export const accessPoints = {
  address: point("Address", ({ base, error, elsewhere }) => {
    if (error === undefined || error.code === "unauthorized" || error.code === "forbidden")
      return works(`${base} offers this API${base.startsWith("https:") ? ", over TLS" : ""}`);
    const observation = parts(error.summary);
    if (elsewhere?.endsWith("/v1"))
      return fails(observation, `The API is at ${elsewhere}`, { settings: { endpoint: elsewhere } });
    if (elsewhere !== undefined)
      return fails(
        observation,
        `The API is at ${elsewhere}, but this package requires an address that ends in /v1`,
      );
    const isSilent = error.code === "timeout" && error.status === undefined;
    const fix = isSilent
      ? "Check that the service is running and that no firewall blocks it"
      : error.code === "timeout"
        ? "Run the command again when the service has recovered"
        : (hintFor(error) ?? "Correct the endpoint");
    return fails(observation, fix);
  }),
  token: point("Token", ({ tokenOrigin, error }) => {
    if (error === undefined) return works(`The service accepts the token from ${tokenOrigin}`);
    if (error.code !== "unauthorized" && error.code !== "forbidden") return undefined;
    const { status, problem } = error;
    const what =
      status === 403 ? "lacks the permission to list projects" : "is rejected when listing projects";
    const observation = `The token from ${tokenOrigin} ${what} (${status}): ${problem?.detail ?? problem?.code ?? "no reason given"}`;
    return fails(observation, hintFor(error) ?? "Set a valid token");
  }),
} satisfies Points<Access>;
