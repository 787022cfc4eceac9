/** Commands that have parts: `npm run bench -- overload`. A part is loaded only when it is named. */

export interface Part {
  /** What it does, how long it takes and its options, for `--help`. */
  readonly about: string;
  run(): Promise<unknown>;
}

/** Runs the part that the first argument names, or `usual`. The part sees only the arguments after its name. */
export async function runPart<Name extends string>(
  command: string,
  parts: Readonly<Record<Name, Part>>,
  usual: NoInfer<Name>,
): Promise<void> {
  const words = process.argv.slice(2);
  if (words.includes('--help') || words[0] === 'help') return console.log(helpText(command, parts, usual));
  const [word] = words;
  if (word === undefined || word.startsWith('-')) return void (await parts[usual].run());
  if (!isPart(word, parts)) {
    console.error(`"${word}" is not a part of this command.\n\n${helpText(command, parts, usual)}`);
    process.exitCode = 1;
    return;
  }
  process.argv.splice(2, 1);
  await parts[word].run();
}

const isPart = <Name extends string>(word: string, parts: Readonly<Record<Name, Part>>): word is Name =>
  Object.hasOwn(parts, word);

function helpText(command: string, parts: Readonly<Record<string, Part>>, usual: string): string {
  const width = Math.max(...Object.keys(parts).map((name) => name.length));
  const lines = Object.entries(parts).map(([name, { about }]) => `  ${name.padEnd(width)}  ${about}`);
  return [`Usage: npm run ${command} -- PART [options]; without a part: ${usual}`, '', ...lines].join('\n');
}
