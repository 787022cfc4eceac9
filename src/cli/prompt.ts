/** Confirmation at a terminal. */
import { createInterface } from 'node:readline/promises';

export async function confirm(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C at the prompt rejects, and means no.
  const input = await prompt.question(`${question} [y/N] `).catch(() => '');
  prompt.close();
  return /^y(es)?$/i.test(input.trim());
}
