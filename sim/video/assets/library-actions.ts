/** What the actions of the asset library do. */
import type { JsonObject } from '../../json.ts';
import type { Owner } from '../accounts.ts';
import { invalid, missing, VideoFailure } from '../errors.ts';
import type { VideoSettings } from '../settings.ts';
import type { AssetPlan, CallFault } from '../triggers.ts';
import { ActionParameters } from './action-parameters.ts';
import type { Action } from './actions.ts';
import type { AssetFiles } from './asset-files.ts';
import { ASSET_STATUSES, ASSET_TYPES, type Asset, type Assets } from './assets.ts';
import { GROUP_TYPES, type Groups } from './groups.ts';
import { BY_TIME, PAGE_PARAMETERS, pageOf } from './paging.ts';
import { PAGE_PATH } from './validation-page.ts';
import type { Validations } from './validations.ts';
import { assetView, groupView } from './views.ts';

export interface LibraryServices {
  settings: VideoSettings;
  groups: Groups;
  assets: Assets;
  validations: Validations;
  files: AssetFiles;
  /** Such as `http://127.0.0.1:4010`. */
  origin: () => string;
}

export interface ActionCall {
  account: string;
  body: JsonObject;
  /** What the triggers of the request change in the life of the new item. */
  plan: AssetPlan;
  /** The faults of later calls about the new item. */
  faults: CallFault[];
}

interface ActionResult {
  result: object;
  /** The item that the action created. */
  created?: string;
}

/** Reads the parameters of one action; others are rejected. */
type Read = (...known: string[]) => { parameters: ActionParameters; owner: Owner };
type Run = (read: Read, call: ActionCall) => ActionResult;

const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 300;
const MODERATION_STRATEGIES = ['Default', 'Skip'] as const;

export class LibraryActions {
  readonly #services: LibraryServices;
  readonly #actions: Readonly<Record<Action, Run>>;

  constructor(services: LibraryServices) {
    this.#services = services;
    const { groups, assets } = services;
    this.#actions = {
      CreateAssetGroup: (read, call) => this.#createGroup(read, call),
      GetAssetGroup: (read) => {
        const { parameters, owner } = read('Id');
        return { result: groupView(groups.find(owner, parameters.requiredText('Id'))) };
      },
      ListAssetGroups: (read) => this.#listGroups(read),
      UpdateAssetGroup: (read) => this.#updateGroup(read),
      DeleteAssetGroup: (read) => {
        const { parameters, owner } = read('Id');
        groups.remove(groups.find(owner, parameters.requiredText('Id')).id);
        return { result: {} };
      },
      CreateAsset: (read, call) => this.#createAsset(read, call),
      GetAsset: (read) => {
        const { parameters, owner } = read('Id');
        const asset = assets.find(owner, parameters.requiredText('Id'));
        assets.countGet(asset);
        return { result: this.#viewAsset(asset) };
      },
      ListAssets: (read) => this.#listAssets(read),
      UpdateAsset: (read) => {
        const { parameters, owner } = read('Id', 'Name');
        const asset = assets.find(owner, parameters.requiredText('Id'));
        assets.rename(asset, parameters.requiredText('Name', LONGEST_NAME));
        return { result: { Id: asset.id } };
      },
      DeleteAsset: (read) => {
        const { parameters, owner } = read('Id');
        assets.remove(assets.find(owner, parameters.requiredText('Id')).id);
        return { result: {} };
      },
      CreateVisualValidateSession: (read) => this.#createValidation(read),
      GetVisualValidateResult: (read) => {
        const { parameters, owner } = read('BytedToken');
        return { result: { GroupId: services.validations.result(owner, parameters.requiredText('BytedToken')) } };
      },
    };
  }

  run(action: Action, call: ActionCall): ActionResult {
    const read: Read = (...known) => {
      const parameters = new ActionParameters(call.body, [...known, 'ProjectName']);
      return { parameters, owner: { account: call.account, project: this.#projectOf(parameters) } };
    };
    return this.#actions[action](read, call);
  }

  #projectOf(parameters: ActionParameters): string {
    const project = parameters.text('ProjectName') ?? 'default';
    if (this.#services.settings.projects.includes(project)) return project;
    throw new VideoFailure('NotFound.ProjectName', `The specified project ${project} is not found.`);
  }

  #createGroup(read: Read, { plan, faults }: ActionCall): ActionResult {
    const { parameters, owner } = read('Name', 'Description', 'GroupType');
    const name = parameters.requiredText('Name', LONGEST_NAME);
    const description = parameters.text('Description', LONGEST_DESCRIPTION) ?? '';
    const type = parameters.choice('GroupType', ['AIGC']) ?? 'AIGC';
    const { id } = this.#services.groups.create({ owner, name, description, type, plan, faults });
    return { result: { Id: id }, created: id };
  }

  #listGroups(read: Read): ActionResult {
    const { parameters, owner } = read('Filter', ...PAGE_PARAMETERS);
    const filter = parameters.inside('Filter', ['GroupType', 'GroupIds', 'Name']);
    const type = filter.requiredChoice('GroupType', GROUP_TYPES);
    const ids = filter.texts('GroupIds');
    const matchesName = nameMatcher(filter);
    const matching = this.#services.groups
      .ownedBy(owner)
      .filter((group) => group.type === type && (ids?.includes(group.id) ?? true) && matchesName(group.name));
    const { items, about } = pageOf(matching, parameters, BY_TIME);
    return { result: { Items: items.map(groupView), ...about } };
  }

  #updateGroup(read: Read): ActionResult {
    const { parameters, owner } = read('Id', 'Name', 'Description');
    const group = this.#services.groups.find(owner, parameters.requiredText('Id'));
    const name = parameters.has('Name') ? parameters.requiredText('Name', LONGEST_NAME) : undefined;
    const description = parameters.text('Description', LONGEST_DESCRIPTION);
    if (name === undefined && description === undefined) throw missing('Name');
    this.#services.groups.update(group, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
    });
    return { result: { Id: group.id } };
  }

  #createAsset(read: Read, { plan, faults }: ActionCall): ActionResult {
    const { parameters, owner } = read('GroupId', 'URL', 'AssetType', 'Name', 'Moderation');
    const groupId = parameters.requiredText('GroupId');
    const sourceUrl = parameters.url('URL');
    const type = parameters.requiredChoice('AssetType', ASSET_TYPES);
    const name = parameters.text('Name', LONGEST_NAME) ?? '';
    const strategy = parameters.inside('Moderation', ['Strategy']).choice('Strategy', MODERATION_STRATEGIES);
    const group = this.#services.groups.find(owner, groupId);
    const moderation = strategy ?? 'Default';
    const { id } = this.#services.assets.create({ group, name, type, sourceUrl, moderation, plan, faults });
    return { result: { Id: id }, created: id };
  }

  #listAssets(read: Read): ActionResult {
    const { parameters, owner } = read('Filter', ...PAGE_PARAMETERS);
    const filter = parameters.inside('Filter', ['GroupType', 'GroupIds', 'Statuses', 'Name']);
    const type = filter.requiredChoice('GroupType', GROUP_TYPES);
    const groupIds = filter.texts('GroupIds');
    const statuses = filter.texts('Statuses');
    const unknown = statuses?.find((status) => !ASSET_STATUSES.some((known) => known === status));
    if (unknown !== undefined) throw invalid('Filter.Statuses', `"${unknown}" is not a status`);
    const matchesName = nameMatcher(filter);
    const matching = this.#services.assets
      .ownedBy(owner)
      .filter(
        (asset) =>
          asset.groupType === type &&
          (groupIds?.includes(asset.groupId) ?? true) &&
          (statuses?.includes(asset.status) ?? true) &&
          matchesName(asset.name),
      );
    const { items, about } = pageOf(matching, parameters, { ...BY_TIME, GroupId: ({ groupId }) => groupId });
    return { result: { Items: items.map((asset) => this.#viewAsset(asset)), ...about } };
  }

  #createValidation(read: Read): ActionResult {
    const { parameters, owner } = read('CallbackURL');
    const callbackUrl = parameters.url('CallbackURL');
    const { token } = this.#services.validations.create(owner, callbackUrl);
    const link = `${this.#services.origin()}${PAGE_PATH}?token=${token}`;
    return { result: { BytedToken: token, H5Link: link, CallbackURL: callbackUrl }, created: token };
  }

  #viewAsset(asset: Asset): object {
    return assetView(asset, (one) => this.#services.files.urlOf(one));
  }
}

/** A fuzzy filter: a part of the name, in any case. */
function nameMatcher(filter: ActionParameters): (name: string) => boolean {
  const part = (filter.text('Name') ?? '').toLowerCase();
  return (name) => name.toLowerCase().includes(part);
}
