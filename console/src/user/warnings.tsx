/** Warnings of the signed-in user, about the wallet and keys of this user. */
import { mine } from '../api/user.ts';
import { ownKeys } from '../parts/finders.ts';
import { WarningPages } from '../parts/warnings.tsx';

const TREE = { api: mine.warnings, audience: 'user', name: 'my-warnings', finders: { key: ownKeys } } as const;

export const MyWarnings = () => <WarningPages tree={TREE} />;
