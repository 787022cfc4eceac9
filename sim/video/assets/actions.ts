/** The actions of the asset library. */

/** Calls per second and account, by action. `CreateAsset` has a limit per minute instead. */
export const CALLS_PER_SECOND = {
  CreateAssetGroup: 10,
  GetAssetGroup: 10,
  ListAssetGroups: 10,
  UpdateAssetGroup: 10,
  DeleteAssetGroup: 5,
  CreateAsset: Number.POSITIVE_INFINITY,
  GetAsset: 100,
  ListAssets: 10,
  UpdateAsset: 10,
  DeleteAsset: 10,
  CreateVisualValidateSession: 3,
  GetVisualValidateResult: 3,
} as const;

export type Action = keyof typeof CALLS_PER_SECOND;

export const isAction = (name: string): name is Action => Object.hasOwn(CALLS_PER_SECOND, name);

export const ACTIONS = Object.keys(CALLS_PER_SECOND).filter(isAction);
