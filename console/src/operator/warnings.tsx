/** Warnings of the operators. */
import { admin } from '../api/admin.ts';
import { finders } from '../parts/finders.ts';
import { WarningPages } from '../parts/warnings.tsx';

const TREE = { api: admin.warnings, audience: 'operator', name: 'warnings', finders } as const;

export const Warnings = () => <WarningPages tree={TREE} />;
