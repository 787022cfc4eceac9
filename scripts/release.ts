/** `npm run release`: everything to check before a release that needs minutes and the registries. */
import { type Part, runPart } from './parts.ts';

const PARTS = {
  all: {
    about: 'all of these but the dashboard, one after the other',
    run: async () => {
      for (const part of [PARTS.package, PARTS.deploy, PARTS.sdks, PARTS.guides]) await part.run();
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
  dashboard: {
    about: 'every panel of the dashboard on a real Prometheus under traffic, after a change to it; five minutes',
    run: () => import('./check-dashboard.ts'),
  },
} as const satisfies Record<string, Part>;

await runPart('release', PARTS, 'all');
