/** The Chromium of this machine, driven by playwright-core. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where distributions install it. */
const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'] as const;

export const NO_CHROMIUM = 'no Chromium is installed; install the package chromium, or name one in CHROMIUM';

/** Undefined when none is installed. `CHROMIUM` names another one; an empty name stands for none. */
export const chromiumPath = (): string | undefined =>
  (process.env.CHROMIUM ?? PATHS.find((path) => existsSync(path))) || undefined;

export function launchChromium(executablePath: string): Promise<Browser> {
  // Chromium refuses its sandbox to root.
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({ executablePath, args: ['--disable-gpu', ...(isRoot ? ['--no-sandbox'] : [])] });
}
