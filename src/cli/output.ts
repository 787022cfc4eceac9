/** Output of commands: messages go to stderr; values (a new key) and log lines go to stdout, so that both can be piped. */

export const info = (message: string): void => void process.stderr.write(`${message}\n`);
export const print = (value: string): void => void process.stdout.write(`${value}\n`);
