const REPLACEMENT = "[secret]";

/** Anything shorter would black out ordinary words and is no secret worth the name. */
const SHORTEST = 4;

/**
 * Replaces every secret in the text, also where it stands JSON-escaped or percent-encoded.
 * Secrets of fewer than four characters are left alone.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = new Set(secrets.filter((secret) => secret.length >= SHORTEST).flatMap(spellings));
  // The longest first: a secret may contain another one, whose replacement would leave its rest in the clear.
  return [...forms]
    .sort((a, b) => b.length - a.length)
    .reduce((clean, form) => clean.replaceAll(form, REPLACEMENT), text);
}

function spellings(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  const encoded = encodeURIComponent(secret.toWellFormed());
  const lowerCase = encoded.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase());
  return [secret, escaped, encoded, lowerCase, encoded.replaceAll("%20", "+")];
}
