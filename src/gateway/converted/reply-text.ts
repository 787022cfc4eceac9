/** How much of a provider's reply is text, before it is parsed: pictures may be large, texts are not. */

/** Members of pictures and sound, in every dialect. */
const MEDIA = ['data', 'result', 'bytes', 'b64_json', 'url'] as const;
/** A shorter value is no medium worth telling from text. */
const MEDIA_BYTES = 64 * 1024;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Whether more than `limit` bytes of the JSON are outside media. Reads no further than it must. */
export function exceedsText(json: Buffer, limit: number): boolean {
  let media = 0;
  let name = '';
  for (let start = json.indexOf(QUOTE); start >= 0; ) {
    if (start - media > limit) return true;
    const end = endOfText(json, start + 1);
    if (end - start > MEDIA_BYTES && MEDIA.some((one) => one === name)) media += end - start;
    const next = json.indexOf(QUOTE, end + 1);
    name = json[end + 1] === COLON || between(json, end + 1, next).includes(':') ? nameAt(json, start + 1, end) : '';
    start = next;
  }
  return json.length - media > limit;
}

/** Names of media are short. */
const nameAt = (json: Buffer, start: number, end: number): string =>
  end - start > 10 ? '' : json.toString('latin1', start, end);

const between = (json: Buffer, start: number, end: number): string =>
  json.toString('latin1', start, Math.min(end < 0 ? json.length : end, start + 10));

function endOfText(json: Buffer, start: number): number {
  for (let at = json.indexOf(QUOTE, start); at >= 0; at = json.indexOf(QUOTE, at + 1)) {
    let first = at;
    while (first > start && json[first - 1] === BACKSLASH) first -= 1;
    if ((at - first) % 2 === 0) return at;
  }
  return json.length;
}
