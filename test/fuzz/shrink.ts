/** Shortens a message while it still fails. */

/** Enough for messages of some hundred bytes; longer ones stay longer than necessary. */
const MAX_TRIES = 2_000;

export async function shrink(text: string, fails: (text: string) => Promise<boolean>): Promise<string> {
  let shortest = text;
  let tries = 0;
  for (let size = Math.ceil(text.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.length; ) {
      if (tries >= MAX_TRIES) return shortest;
      tries += 1;
      const candidate = shortest.slice(0, at) + shortest.slice(at + size);
      if (await fails(candidate)) shortest = candidate;
      else at += size;
    }
  }
  return shortest;
}
