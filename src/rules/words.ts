/**
 * Long plain lists of short names, with a space between them. The names stay types, so that a misspelt one does not
 * compile.
 */

type WordsOf<S extends string, W = never> = S extends `${infer A} ${infer B}` ? WordsOf<B, W | A> : W | S;
export const words = <const S extends string>(...lines: readonly S[]): readonly WordsOf<S>[] =>
  lines.flatMap((line) => line.split(' ')) as WordsOf<S>[];
