/** Texts of the return page by language. */
import { rowsIn } from '../../rules/index.ts';

export type ReturnPageState = 'completed' | 'verifying' | 'failed' | 'expired' | 'unknown';

/** The states, and the page itself: the value of its `lang` attribute, and the label of the link to the caller's site. */
export type ReturnTexts = Readonly<Record<ReturnPageState | 'page', readonly [title: string, text: string]>>;

const textsOf = <const S extends string>(text: S) =>
  rowsIn(text, ([title = '', about = '']) => [title, about] as const);

export const RETURN_TEXTS = {
  en: textsOf(`
page: en | Continue
completed: Verification complete | Thank you. You can close this page.
verifying: Checking your verification | This usually takes a few seconds. You can wait here or close this page.
failed: Verification not successful | Please ask the service that sent you here for a new link and try again.
expired: This link has expired | Please ask the service that sent you here for a new link.
unknown: This link is not valid | Please open the link again exactly as you received it, or ask for a new one.
`),
  zh: textsOf(`
page: zh-Hans | 继续
completed: 验证已完成 | 谢谢。您可以关闭此页面。
verifying: 正在确认验证结果 | 通常只需几秒钟。您可以在此等候，也可以关闭此页面。
failed: 验证未通过 | 请向引导您到此页面的服务方获取新的链接，然后重试。
expired: 此链接已过期 | 请向引导您到此页面的服务方获取新的链接。
unknown: 此链接无效 | 请按收到的原样重新打开链接，或获取新的链接。
`),
  'zh-hant': textsOf(`
page: zh-Hant | 繼續
completed: 驗證已完成 | 謝謝。您可以關閉此頁面。
verifying: 正在確認驗證結果 | 通常只需幾秒鐘。您可以在此等候，也可以關閉此頁面。
failed: 驗證未通過 | 請向引導您到此頁面的服務方取得新的連結，然後再試一次。
expired: 此連結已過期 | 請向引導您到此頁面的服務方取得新的連結。
unknown: 此連結無效 | 請按收到的原樣重新開啟連結，或取得新的連結。
`),
  fr: textsOf(`
page: fr | Continuer
completed: Vérification terminée | Merci. Vous pouvez fermer cette page.
verifying: Contrôle de votre vérification | Cela prend en général quelques secondes. Vous pouvez patienter ici ou fermer cette page.
failed: Vérification non réussie | Demandez un nouveau lien au service qui vous a dirigé ici, puis réessayez.
expired: Ce lien a expiré | Demandez un nouveau lien au service qui vous a dirigé ici.
unknown: Ce lien n’est pas valide | Ouvrez de nouveau le lien exactement tel que vous l’avez reçu, ou demandez-en un nouveau.
`),
  de: textsOf(`
page: de | Weiter
completed: Prüfung abgeschlossen | Vielen Dank. Sie können diese Seite schließen.
verifying: Ihre Prüfung wird ausgewertet | Das dauert meist nur wenige Sekunden. Sie können hier warten oder diese Seite schließen.
failed: Prüfung nicht erfolgreich | Bitten Sie den Dienst, von dem Sie kommen, um einen neuen Link und versuchen Sie es noch einmal.
expired: Dieser Link ist abgelaufen | Bitten Sie den Dienst, von dem Sie kommen, um einen neuen Link.
unknown: Dieser Link ist ungültig | Öffnen Sie den Link noch einmal genau so, wie Sie ihn erhalten haben, oder bitten Sie um einen neuen.
`),
  es: textsOf(`
page: es | Continuar
completed: Verificación completada | Gracias. Puede cerrar esta página.
verifying: Comprobando su verificación | Suele tardar unos segundos. Puede esperar aquí o cerrar esta página.
failed: Verificación no superada | Pida un enlace nuevo al servicio que le envió aquí e inténtelo de nuevo.
expired: Este enlace ha caducado | Pida un enlace nuevo al servicio que le envió aquí.
unknown: Este enlace no es válido | Abra de nuevo el enlace tal como lo recibió, o pida uno nuevo.
`),
} as const satisfies Record<string, ReturnTexts>;
