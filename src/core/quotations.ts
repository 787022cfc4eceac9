/** Quotations in messages for the request log. A message may quote a request, of which only names are kept. */

const QUOTATION = /(["'`])(.*?)\1/gs;
/** Of models, fields and objects. */
const NAME = /^[\w.:/@*[\]$-]{1,100}$/;

export const isPlainName = (text: string): boolean => NAME.test(text);

/** Leaves out what stands in quotes and is not a name. */
export const quoteNamesOnly = (text: string): string =>
  text.replaceAll(QUOTATION, (whole, mark: string, quoted: string) =>
    isPlainName(quoted) ? whole : `${mark}[...]${mark}`,
  );
