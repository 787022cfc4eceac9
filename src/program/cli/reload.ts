/** `dragoman reload`: replaces the workers of the running server one after the other, without a dropped request. */
import { Command } from 'commander';
import { loadConfig, settingsIn } from '../../platform/config.ts';
import { requestReload } from './control.ts';
import { info } from './output.ts';

export const reloadCommand = (): Command =>
  new Command('reload')
    .description('replace the workers of the server on DATA_DIR one after the other, with new code and settings')
    .action(async () => {
      const { DATA_DIR } = loadConfig(process.env);
      // Its path may be relative to another folder here.
      const { DATA_DIR: _, ...settings } = settingsIn(process.env);
      await requestReload(DATA_DIR, { settings }, info);
      info('All workers are replaced.');
    });
