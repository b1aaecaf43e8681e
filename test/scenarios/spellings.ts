type Fields = Readonly<Record<string, unknown>>;
type Spelling = (instance: Fields, place: "item" | "object") => object;

const labelsOf = ({ labels }: Fields): Record<string, unknown> => Object(labels);
const reversed = (fields: object): object => Object.fromEntries(Object.entries(fields).reverse());

function without(instance: Fields, ...names: string[]): object {
  return Object.fromEntries(Object.entries(instance).filter(([name]) => !names.includes(name)));
}

/** Ways in which a service may normalize the values of a request. None of them is a change. */
export const spellings: Readonly<Record<string, Spelling>> = {
  "as requested": (instance) => instance,
  "ids for names": (instance) => ({
    ...instance,
    image: `img-${instance.image}`,
    network: `net-${instance.network}`,
  }),
  "ids for names in lists only": (instance, place) =>
    place === "item" ? { ...instance, image: `img-${instance.image}` } : instance,
  "names in lists, ids elsewhere": (instance, place) =>
    place === "object"
      ? { ...instance, image: `img-${instance.image}`, flavor: `flv-${instance.flavor}` }
      : instance,
  "links in lists, ids elsewhere": (instance, place) => ({
    ...instance,
    image: place === "item" ? `/v1/images/${instance.image}` : `img-${instance.image}`,
  }),
  "capital letters": (instance) => ({ ...instance, flavor: String(instance.flavor).toUpperCase() }),
  "objects for names": (instance) => ({
    ...instance,
    flavor: { id: `flv-${instance.flavor}`, name: instance.flavor },
  }),
  "objects with fields in another order": (instance, place) => {
    const flavor = { id: `flv-${instance.flavor}`, name: instance.flavor };
    return { ...instance, flavor: place === "item" ? reversed(flavor) : flavor };
  },
  "objects with a slug, and with less in lists": (instance, place) => ({
    ...instance,
    flavor: { slug: instance.flavor, ...(place === "object" && { regions: ["nyc1"] }) },
  }),
  "objects with a name": (instance, place) => ({
    ...instance,
    flavor: { name: `Size ${instance.flavor}`, href: `/${place}` },
  }),
  "an address for auto": (instance) => ({ ...instance, public_ip: instance.ip_address }),
  "null for auto": (instance) => ({ ...instance, public_ip: null }),
  "an address that lists don't show": (instance, place) =>
    place === "item" ? without(instance, "ip_address") : instance,
  "keys without comments": (instance) => ({
    ...instance,
    ssh_keys: ["ssh-ed25519 AAAAone", "ssh-ed25519 AAAAtwo"],
  }),
  "keys in another order": (instance) => ({
    ...instance,
    ssh_keys: ["ssh-ed25519 AAAAtwo b", "ssh-ed25519 AAAAone a"],
  }),
  "fingerprints for keys": (instance) => ({
    ...instance,
    ssh_keys: [{ fingerprint: "SHA256:x", name: "one" }],
  }),
  "labels in another order": (instance) => ({ ...instance, labels: reversed(labelsOf(instance)) }),
  "labels of its own": (instance) => ({ ...instance, labels: { ...labelsOf(instance), "system/zone": "b" } }),
  "numbers for numeric strings": (instance) => ({ ...instance, labels: { ...labelsOf(instance), size: 3 } }),
  "strings for numbers in lists": (instance, place) => ({ ...instance, cpus: place === "item" ? "4" : 4 }),
  "lists without labels and keys": (instance, place) =>
    place === "item" ? without(instance, "labels", "ssh_keys") : instance,
  "lists with few fields": (instance, place) => {
    const { id, name, status, revision } = instance;
    return place === "item" ? { id, name, status, revision } : instance;
  },
  "further fields": (instance) => ({ ...instance, zone: "b", disks: [{ gb: 10 }], meta: { b: 1, a: null } }),
  "further fields in another order": (instance, place) => ({
    ...instance,
    meta: place === "item" ? reversed({ a: 1, b: 2 }) : { a: 1, b: 2 },
  }),
  "further fields that lists don't show": (instance, place) =>
    place === "item" ? instance : { ...instance, zone: "b" },
  "fractions of seconds in lists": (instance, place) =>
    place === "item" ? { ...instance, created_at: withFraction(instance.created_at) } : instance,
  "offsets for Z": (instance, place) =>
    place === "item"
      ? { ...instance, created_at: String(instance.created_at).replace("Z", "+00:00") }
      : instance,
  "no dates": (instance) => without(instance, "created_at", "updated_at"),
  "null for absent values": (instance) => ({ description: null, deleted_at: null, ...instance }),
  "no URL in lists": (instance, place) => (place === "item" ? without(instance, "url") : instance),
  "fields in another order": (instance) => reversed(instance),
};

function withFraction(date: unknown): string {
  return String(date).replace(/Z$/, ".250Z");
}
