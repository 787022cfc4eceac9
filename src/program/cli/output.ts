/**
 * Output of commands: messages and questions go to stderr; values (a new key) and log lines to stdout, so that both can
 * be piped.
 */
import { createInterface } from 'node:readline/promises';

export const info = (message: string): void => void process.stderr.write(`${message}\n`);
export const print = (value: string): void => void process.stdout.write(`${value}\n`);

/** Asks at the terminal, for a yes or for a text that shows that the reader has read. */
export async function confirm(question: string, expected?: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C at the prompt rejects, and means no.
  const input = await prompt
    .question(`${question} [${expected === undefined ? 'y/N' : `type ${expected}`}] `)
    .catch(() => '');
  prompt.close();
  return expected === undefined ? /^y(es)?$/i.test(input.trim()) : input.trim() === expected;
}
