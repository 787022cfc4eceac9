/** Words for people go to stderr; stdout is for values (a new key) and log lines, so that both can be piped. */

export const info = (sentence: string): void => void process.stderr.write(`${sentence}\n`);
export const print = (value: string): void => void process.stdout.write(`${value}\n`);
