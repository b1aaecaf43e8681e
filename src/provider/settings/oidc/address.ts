import { isLoopback } from "../../../api/endpoint";
import { CloudInfraError } from "../../../diagnostics/error";

interface OidcUrlOptions {
  /** For people: what holds the address. */
  readonly name: string;
  /** Plain http also to other machines than this one. */
  readonly allowHttp: boolean;
  readonly withQuery?: boolean;
}

/**
 * An address to which tokens may go.
 *
 * @throws CloudInfraError `config_invalid`, without the address
 */
export function parseOidcUrl(text: string, { name, allowHttp, withQuery = false }: OidcUrlOptions): URL {
  const url = URL.parse(text);
  const reject = (why: string): never => {
    throw new CloudInfraError("config_invalid", `${name} ${why}`, {
      hint: "Give the whole address. The operators of the token service can tell you what it is.",
    });
  };
  if (url === null || !["https:", "http:"].includes(url.protocol))
    return reject("is not a URL that begins with https://");
  if (url.username !== "" || url.password !== "") return reject("must not contain a user name or password");
  if (url.hash !== "") return reject('must not contain "#"');
  if (url.search !== "" && !withQuery) return reject('must not contain "?"');
  if (url.protocol === "http:" && !allowHttp && !isLoopback(url.hostname))
    return reject(`must begin with https://: over http a token could be read on the way to ${url.hostname}`);
  return url;
}
