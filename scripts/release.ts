/**
 * `npm run release`: everything to check before a release that needs minutes and the registries, and the cut of the
 * release itself.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './modules.ts';
import { type Part, runPart } from './parts.ts';

const PARTS = {
  all: {
    about: 'tests, package, deploy, sdks, guides and back, one after the other',
    run: async () => {
      for (const part of [PARTS.tests, PARTS.package, PARTS.deploy, PARTS.sdks, PARTS.guides, PARTS.back])
        await part.run();
    },
  },
  tests: {
    about: 'every test: npm test, test:all, the sweeps and the tests of load; most of an hour on two cores',
    run: async () => {
      for (const args of [[], ['--all'], ['--all', '--sweeps'], ['--all', '--load']])
        execFileSync(process.execPath, [join(ROOT, 'scripts', 'test.ts'), ...args], { cwd: ROOT, stdio: 'inherit' });
    },
  },
  package: {
    about: 'packs, installs the tarball elsewhere and tries it',
    run: () => import('./check-package.ts'),
  },
  deploy: {
    about: 'runs the steps of deploy/Dockerfile without Docker and lints deploy/; --lint: only that',
    run: () => import('./check-deploy.ts'),
  },
  sdks: {
    about: 'the newest and the previous major versions of the official SDKs; names of packages for only these',
    run: () => import('./sdks.ts'),
  },
  news: {
    about: 'what the newest SDKs and agent CLIs send that no table knows; exit code 1 when there is something',
    run: () => import('./news.ts'),
  },
  guides: {
    about: 'installs the clients of docs/guides and runs the blocks of their pages; names of clients for only these',
    run: () => import('./guides.ts'),
  },
  cut: {
    about: 'cut 0.3.0: dates the changelog, writes the version, commits, tags and packs; the tree must be clean',
    run: cut,
  },
  back: {
    about:
      'runs the code of the last release beside and after this one, and counts the calls; --from v0.2.0, --calls 200',
    run: () => import('./release-back.ts'),
  },
  dashboard: {
    about: 'every panel of the dashboard on a real Prometheus under traffic, after a change to it; five minutes',
    run: () => import('./check-dashboard.ts'),
  },
} as const satisfies Record<string, Part>;

async function cut(): Promise<void> {
  const { CutError, cutRelease } = await import('./cut-release.ts');
  const { packPackage, writeSbom } = await import('./package.ts');
  const [, , version = ''] = process.argv;
  try {
    cutRelease({ root: ROOT, version, day: new Date().toISOString().slice(0, 10) });
  } catch (error) {
    if (!(error instanceof CutError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
    return;
  }
  console.log(
    `${packPackage(ROOT)}\n${writeSbom(ROOT)}\nThe tag v${version} is made; push it with its commit: git push --follow-tags`,
  );
}

await runPart('release', PARTS, 'all');
