/** Takes free text out of its JSON wrapping (see `free-text.ts`) piece by piece; it never repairs what the model wrote. */
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
/** The opening is short; after this many characters it is something else, and the whole text is told at the end instead. */
const MAX_OPENING = 256;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Feeds on pieces of the JSON and returns pieces of the text. Cuts may fall inside an escape or a surrogate pair. */
export function inputScanner(): (piece: string) => string {
  let phase: 'opening' | 'value' | 'over' = 'opening';
  let carry = '';
  let high = '';

  function value(text: string): string {
    let out = high;
    let at = 0;
    high = '';
    carry = '';
    while (at < text.length) {
      const stop = nextSpecial(text, at);
      out += text.slice(at, stop);
      if (stop === text.length) break;
      if (text.charCodeAt(stop) === QUOTE) {
        phase = 'over';
        return out;
      }
      const size = text[stop + 1] === 'u' ? 6 : 2;
      if (stop + size > text.length) {
        carry = text.slice(stop);
        break;
      }
      out += unescaped(text.slice(stop, stop + size));
      at = stop + size;
    }
    if (!endsHigh(out)) return out;
    high = out.slice(-1);
    return out.slice(0, -1);
  }

  return (piece) => {
    if (phase === 'over') return '';
    if (phase === 'value') return value(carry + piece);
    carry += piece;
    const opening = OPENING.exec(carry);
    if (opening) {
      phase = 'value';
      return value(carry.slice(opening[0].length));
    }
    if (carry.length > MAX_OPENING) phase = 'over';
    return '';
  };
}

function nextSpecial(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE || code === BACKSLASH) return at;
  }
  return text.length;
}

function unescaped(sequence: string): string {
  try {
    return String(JSON.parse(`"${sequence}"`));
  } catch {
    return '';
  }
}

function endsHigh(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
