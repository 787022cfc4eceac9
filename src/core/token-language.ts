/**
 * Language hints for text in Latin letters, because tokenizers split
 * words of other languages more than English ones.
 */

const ENGLISH_WORDS =
  'the of and to is it for on as you are be by not or at we if an can has was but all out up so my he she ' +
  'his her our had who how did its one two new use get set let var int try def end any may via see yet too ' +
  'own why now';
const OTHER_WORDS =
  'der das und ist ein zu den mit von im dem des auf es sie ich er als bei nur um zum zur vor wie bis le la ' +
  'les et un une est que en il du au aux ce qui pas ne se sa par sur ou el los las por con del al lo su si ' +
  'mi ya muy di che non gli da os dos na em uma ao nas nos het een van je te dat bu bir ve ile de och att ' +
  'som det av jag til og az egy ta dan ini itu';

export const NO_HINT = 0;
/** English, or a word that is frequent in source code. */
export const ENGLISH = 1;
export const OTHER_LANGUAGE = 2;

/** Longer words are too many for a table that is indexed by their letters. */
const LONGEST_WORD = 3;
const BITS_PER_LETTER = 5;
const HINTS = new Uint8Array(1 << (BITS_PER_LETTER * LONGEST_WORD));
for (const word of ENGLISH_WORDS.split(' ')) HINTS[keyOf(word, 0, word.length)] = ENGLISH;
for (const word of OTHER_WORDS.split(' ')) HINTS[keyOf(word, 0, word.length)] = OTHER_LANGUAGE;

export function languageHint(text: string, start: number, end: number): number {
  return end - start > LONGEST_WORD ? NO_HINT : (HINTS[keyOf(text, start, end)] ?? NO_HINT);
}

/** Five bits identify an ASCII letter in either case. */
function keyOf(text: string, start: number, end: number): number {
  let key = 0;
  for (let index = start; index < end; index += 1) key = (key << BITS_PER_LETTER) | (text.charCodeAt(index) & 31);
  return key;
}
