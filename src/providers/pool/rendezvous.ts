/** Weighted rendezvous hashing: the account with the highest score gets the session. */

const seeds = new Map<string, number>();
/** Ids of accounts are few; the bound is for tests that create many. */
const MAX_SEEDS = 10_000;

/**
 * `hash` is the session's number in [0, 1). A score depends on one account only, so that no other account changes it.
 */
export function sessionScore(hash: number, { id, weight }: { readonly id: string; readonly weight: number }): number {
  const mixed = mix((Math.floor(hash * 2 ** 32) ^ seedOf(id)) >>> 0);
  // In (0, 1), so that the logarithm is finite and negative.
  return weight / -Math.log((mixed + 0.5) / 2 ** 32);
}

/** FNV-1a, mixed: the hashes of short ids differ in few bits. */
function seedOf(id: string): number {
  const known = seeds.get(id);
  if (known !== undefined) return known;
  let seed = 0x811c9dc5;
  for (let n = 0; n < id.length; n += 1) seed = Math.imul(seed ^ id.charCodeAt(n), 0x01000193);
  const mixed = mix(seed);
  if (seeds.size < MAX_SEEDS) seeds.set(id, mixed);
  return mixed;
}

/** The finalizer of MurmurHash3: every bit of the input changes about half of the output. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
