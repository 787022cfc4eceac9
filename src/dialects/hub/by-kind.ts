/** Tables with a function for each kind of item, event, part or tool. */

interface Kind {
  readonly kind: string;
}

export type ByKind<T extends Kind, C, R> = {
  readonly [K in T['kind']]: (value: Extract<T, { readonly kind: K }>, context: C) => R;
};

/** Calls the function of the value's kind. */
export const forKind =
  <T extends Kind, C, R>(table: ByKind<T, C, R>) =>
  (value: T, context: C): R =>
    (table[value.kind as T['kind']] as (value: T, context: C) => R)(value, context);
