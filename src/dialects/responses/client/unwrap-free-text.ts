/** Streaming counterpart of `unwrapInput` in `tools/free-text.ts`. Never repairs malformed JSON from the model. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
/**
 * Characters to wait for the opening. Longer input has another form;
 * the encoder then emits its text when the call ends.
 */
const MAX_OPENING_CHARS = 256;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Returns a function from pieces of JSON to pieces of free text. A
 * piece may end inside an escape or a surrogate pair.
 */
export function openFreeTextUnwrapper(): (piece: string) => string {
  let phase: 'opening' | 'value' | 'done' = 'opening';
  let pending = '';
  let pendingSurrogate = '';

  function readValue(text: string): string {
    let out = pendingSurrogate;
    let index = 0;
    pendingSurrogate = '';
    pending = '';
    while (index < text.length) {
      const stop = indexOfSpecial(text, index);
      out += text.slice(index, stop);
      if (stop === text.length) break;
      if (text.charCodeAt(stop) === QUOTE) {
        phase = 'done';
        return out;
      }
      const size = text[stop + 1] === 'u' ? 6 : 2;
      if (stop + size > text.length) {
        pending = text.slice(stop);
        break;
      }
      out += decodeEscape(text.slice(stop, stop + size));
      index = stop + size;
    }
    if (!endsWithHighSurrogate(out)) return out;
    pendingSurrogate = out.slice(-1);
    return out.slice(0, -1);
  }

  return (piece) => {
    if (phase === 'done') return '';
    if (phase === 'value') return readValue(pending + piece);
    pending += piece;
    const opening = OPENING.exec(pending);
    if (opening) {
      phase = 'value';
      return readValue(pending.slice(opening[0].length));
    }
    if (pending.length > MAX_OPENING_CHARS) phase = 'done';
    return '';
  };
}

function indexOfSpecial(text: string, from: number): number {
  for (let index = from; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE || code === BACKSLASH) return index;
  }
  return text.length;
}

function decodeEscape(sequence: string): string {
  try {
    return String(JSON.parse(`"${sequence}"`));
  } catch {
    return '';
  }
}

function endsWithHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
