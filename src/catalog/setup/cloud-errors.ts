/** What `cloud` and `api_key` of an account must not be, by the tables of its kind. */
import { accountKind, CLOUD_SETTING_NAMES, type CloudSettings, cloudAuth, settingsOfCloud } from '../../rules/index.ts';

export interface CloudAccount {
  readonly cloud?: CloudSettings | undefined;
  readonly api_key?: string | undefined;
  readonly base_url?: string | undefined;
  /** The account is stored, with a credential that stays. */
  readonly hasCredential?: boolean;
}

export function cloudErrors(path: string, account: CloudAccount, style: string | undefined): string[] {
  const { cloud, api_key, hasCredential = false } = account;
  const auth = cloud && cloudAuth(cloud);
  const secret = cloud ? auth?.secret : 'the credential of the account';
  return [
    ...(cloud ? settingErrors(`${path}cloud.`, cloud, style) : []),
    ...(cloud ? regionErrors(`${path}cloud.`, cloud, account.base_url) : []),
    ...(secret !== undefined && api_key === undefined && !hasCredential
      ? [`${path}api_key: not found, expected ${secret}`]
      : []),
    ...(cloud && auth && secret === undefined && api_key !== undefined
      ? [`${path}api_key: found a value, expected none; ${cloud.auth} signs in as the machine`]
      : []),
    ...(api_key !== undefined && /[\r\n\t]/.test(api_key) && auth?.isDocument !== true
      ? [`${path}api_key: found several lines, expected one`]
      : []),
  ];
}

/** An address of one region with the setting of another would fail with an error that names neither. */
function regionErrors(path: string, cloud: CloudSettings, baseUrl: string | undefined): string[] {
  const { regionalHost } = accountKind(cloud.kind);
  const region = regionalHost?.host.exec(URL.parse(baseUrl ?? '')?.hostname ?? '')?.[1];
  const set = regionalHost && cloud[regionalHost.setting];
  if (region === undefined || set === undefined || set === region) return [];
  return [`${path}${regionalHost?.setting}: found "${set}", expected "${region}" as in base_url`];
}

function settingErrors(path: string, cloud: CloudSettings, style: string | undefined): string[] {
  const { styles, auths } = accountKind(cloud.kind);
  const { needed, possible } = settingsOfCloud(cloud.kind, cloud.auth);
  return [
    ...(style === undefined || styles.some((one) => one === style)
      ? []
      : [`${path}kind: found "${cloud.kind}", expected it only in a group of style ${styles.join(' or ')}`]),
    ...(cloud.auth in auths
      ? []
      : [`${path}auth: found "${cloud.auth}", expected one of ${Object.keys(auths).join(', ')}`]),
    ...needed
      .filter((name) => cloud[name] === undefined)
      .map((name) => `${path}${name}: not found, expected it with ${cloud.kind} and ${cloud.auth}`),
    ...CLOUD_SETTING_NAMES.filter((name) => cloud[name] !== undefined && !possible.includes(name)).map(
      (name) => `${path}${name}: found a value, expected none with ${cloud.kind} and ${cloud.auth}`,
    ),
  ];
}
