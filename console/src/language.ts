/**
 * The language of the console: the one that was chosen, or the first of the browser's languages that it has. It is
 * decided once, when the page loads. English is in the code; another language is a chunk of its own, which only its
 * readers load.
 */
const STORED = 'dragoman-language';
const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

function decided(): Language {
  // Tests of single modules run without a browser.
  if (typeof document === 'undefined') return 'en';
  const wanted = [localStorage.getItem(STORED) ?? '', ...navigator.languages].map((tag) => tag.split('-')[0]);
  return wanted.flatMap((tag) => LANGUAGES.find((one) => one === tag) ?? [])[0] ?? 'en';
}

export const language = decided();
/** For numbers and dates. */
export const locale = { en: 'en-US', zh: 'zh-CN' }[language];

// Everything waits here, so that constants of modules are in the language too. What is loaded must import no module of
// the
// console: it would wait for this one.
export const chinese = language === 'zh' ? await import('./zh/texts.ts') : undefined;

/** A label of the console in the language. Never names, ids or other data: one could be the same word as a label. */
export const t = (label: string): string => chinese?.labels[label] ?? label;

/** Words of the API to choose from; one without a label stays as it is. */
export const choices = (words: readonly string[]): (readonly [value: string, label: string])[] =>
  words.map((word) => [word, t(word)]);

if (typeof document !== 'undefined') document.documentElement.lang = language === 'zh' ? locale : language;

/** Loads the page again. */
export function switchLanguage(): void {
  localStorage.setItem(STORED, language === 'zh' ? 'en' : 'zh');
  location.reload();
}
