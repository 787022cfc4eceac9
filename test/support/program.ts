/**
 * What a new process of Dragoman runs: the launcher, or the program in a few files that `npm run test:all` has built
 * (program-build.ts).
 */
import { fileURLToPath } from 'node:url';

export const LAUNCHER = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url));
export const PROGRAM = process.env.TEST_PROGRAM ?? LAUNCHER;
