/**
 * `npm run package`: packs the tarball that operators install, in JavaScript with the console built. Node does not run
 * TypeScript below node_modules, so the types are removed here; lines and columns stay the same. The folder
 * dist/package is what npm packs.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from './modules.ts';

const STAGE = join(ROOT, 'dist', 'package');
/** The demo needs the simulated providers. */
const SOURCES = ['src', 'sim'] as const;
const COPIED = ['bin', 'migrations', 'docs', 'README.md', 'CHANGELOG.md', 'ARCHITECTURE.md', 'openapi.json'] as const;
/** Of package.json. Development needs the repository. */
const LEFT_OUT = ['scripts', 'devDependencies', 'overrides'] as const;

/** Relative paths in quotes: imports, and the scripts of worker threads. */
const RELATIVE_PATH = /(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g;

/** Returns the path of the tarball in `folder`. */
export function packPackage(folder: string): string {
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'console.ts'), '--if-needed'], { stdio: 'inherit' });
  if (!existsSync(join(ROOT, 'dist', 'console', 'index.html'))) throw new Error('The console could not be built.');
  stagePackage();
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: STAGE,
    encoding: 'utf8',
  });
  return join(folder, (JSON.parse(output) as { filename: string }[])[0]?.filename ?? '');
}

/**
 * Writes what the package depends on, with the hashes of the lock file, as CycloneDX. Returns the path of the file in
 * `folder`.
 */
export function writeSbom(folder: string): string {
  const args = ['sbom', '--package-lock-only', '--include=dev', '--sbom-format', 'cyclonedx'];
  const sbom = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }));
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  // `--omit dev` would leave out packages that run too, if development also needs them.
  const refs = new Set([sbom.metadata.component['bom-ref']]);
  for (const path in packages)
    if (path !== '' && !packages[path].dev)
      refs.add(`${path.replace(/^.*node_modules\//, '')}@${packages[path].version}`);
  sbom.components = sbom.components.filter((one: { 'bom-ref': string }) => refs.has(one['bom-ref']));
  sbom.dependencies = sbom.dependencies.filter(({ ref }: { ref: string }) => refs.has(ref));
  for (const one of sbom.dependencies) one.dependsOn = one.dependsOn.filter((ref: string) => refs.has(ref));
  sbom.metadata.component.name = 'dragoman';
  const path = join(folder, `dragoman-${packages[''].version}.cdx.json`);
  writeFileSync(path, `${JSON.stringify(sbom, null, 2)}\n`);
  return path;
}

function stagePackage(): void {
  rmSync(STAGE, { recursive: true, force: true });
  for (const path of COPIED) cpSync(join(ROOT, path), join(STAGE, path), { recursive: true });
  for (const name of readdirSync(join(ROOT, 'dist')).filter((name) => name !== 'package'))
    cpSync(join(ROOT, 'dist', name), join(STAGE, 'dist', name), { recursive: true });
  for (const file of globSync(
    SOURCES.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT },
  )) {
    if (file.endsWith('.test.ts')) continue;
    const target = join(STAGE, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, toJavaScript(readFileSync(join(ROOT, file), 'utf8')));
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const name of LEFT_OUT) delete manifest[name];
  writeFileSync(join(STAGE, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

export const toJavaScript = (source: string): string =>
  stripTypeScriptTypes(source).replaceAll(RELATIVE_PATH, '$1$2.js$1');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = packPackage(ROOT);
  console.log(
    `${path}\n${writeSbom(ROOT)} lists what it depends on.\nInstall it elsewhere: npm install ${path} && npx dragoman serve`,
  );
}
