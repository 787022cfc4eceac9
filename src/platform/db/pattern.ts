/** Texts with `*` for any characters, as patterns of PostgreSQL. */
export const likePattern = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&').replaceAll('*', '%');
