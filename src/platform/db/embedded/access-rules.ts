/**
 * Who may connect to the socket when a root process runs PostgreSQL as an unprivileged user: root only. Other services
 * may run as that user too, and the rules of initdb trust every process that reaches the socket. Rules that an operator
 * wrote stay in force.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataLocation } from './data-location.ts';
import { APPLICATION_ROLE, LAUNCHER_ROLE } from './endpoint.ts';

const MAP = 'dragoman';
/** The line that initdb writes. */
const TRUSTS_ALL = /^local\s+all\s+all\s+trust\s*$/m;

/**
 * Settings of the postmaster; none when PostgreSQL runs as the user of this process, who alone can enter the folder of
 * the socket.
 */
export async function accessSettings({ cluster, osUser }: Pick<DataLocation, 'cluster' | 'osUser'>): Promise<string[]> {
  if (osUser === undefined) return [];
  const rules = await readFile(join(cluster, 'pg_hba.conf'), 'utf8').catch(() => '');
  // PostgreSQL asks the system for the name of the user, so a system that does not list root keeps the rules of initdb.
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, root] = /^([a-z_][\w-]*):[^:]*:0:/m.exec(passwd) ?? [];
  if (root === undefined || !TRUSTS_ALL.test(rules)) return [];
  const names = [LAUNCHER_ROLE, APPLICATION_ROLE].map((role) => `${MAP} ${root} ${role}\n`);
  return [
    `hba_file=${await writeRules(join(cluster, 'dragoman_hba.conf'), `local all all peer map=${MAP}\n`)}`,
    `ident_file=${await writeRules(join(cluster, 'dragoman_ident.conf'), names.join(''))}`,
  ];
}

/** Readable by PostgreSQL, which does not run as root. */
async function writeRules(file: string, text: string): Promise<string> {
  await writeFile(file, text);
  await chmod(file, 0o644);
  return file;
}
