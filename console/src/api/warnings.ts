/** Warnings in both trees: the same operations under the base path of the tree. */
import type { DestinationTest, Page, ShownDestination, ShownNotice, ShownWarning } from '../../../src/schemas/index.ts';
import { get, send } from './client.ts';
import type { apiAt, Body } from './paths.ts';

export type DestinationPage = Page<ShownDestination> & { readonly mail: boolean };

export const warningsAt = (at: ReturnType<typeof apiAt>['at'], listOf: ReturnType<typeof apiAt>['listOf']) => ({
  rules: listOf<ShownWarning>('/warnings'),
  createRule: (body: Body) => send<ShownWarning>('POST', at('/warnings'), { body }),
  changeRule: (id: string, body: Body) => send<ShownWarning>('PATCH', at('/warnings/{}', id), { body }),
  deleteRule: (id: string) => send<unknown>('DELETE', at('/warnings/{}', id)),
  destinations: () => get<DestinationPage>(at('/warning-destinations')),
  createDestination: (body: Body) => send<ShownDestination>('POST', at('/warning-destinations'), { body }),
  changeDestination: (id: string, body: Body) =>
    send<ShownDestination>('PATCH', at('/warning-destinations/{}', id), { body }),
  deleteDestination: (id: string) => send<unknown>('DELETE', at('/warning-destinations/{}', id)),
  testDestination: (id: string) => send<DestinationTest>('POST', at('/warning-destinations/{}/test', id), { body: {} }),
  notices: listOf<ShownNotice>('/notices'),
});

export type WarningsApi = ReturnType<typeof warningsAt>;
