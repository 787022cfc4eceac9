/** Confirmation at a terminal. */
import { createInterface } from 'node:readline/promises';

export async function confirm(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const input = await prompt.question(`${question} [y/N] `);
  prompt.close();
  return /^y(es)?$/i.test(input.trim());
}
