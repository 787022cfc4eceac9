/** Texts of the return page by language. */

export type ReturnPageState = 'completed' | 'verifying' | 'failed' | 'expired' | 'unknown';

export interface ReturnText {
  readonly title: string;
  readonly text: string;
}

export interface ReturnTexts extends Readonly<Record<ReturnPageState, ReturnText>> {
  /** The value of the `lang` attribute. */
  readonly lang: string;
  /** The label of the link to the caller's site. */
  readonly link: string;
}

export const RETURN_TEXTS = {
  en: {
    lang: 'en',
    link: 'Continue',
    completed: { title: 'Verification complete', text: 'Thank you. You can close this page.' },
    verifying: {
      title: 'Checking your verification',
      text: 'This usually takes a few seconds. You can wait here or close this page.',
    },
    failed: {
      title: 'Verification not successful',
      text: 'Please ask the service that sent you here for a new link and try again.',
    },
    expired: { title: 'This link has expired', text: 'Please ask the service that sent you here for a new link.' },
    unknown: {
      title: 'This link is not valid',
      text: 'Please open the link again exactly as you received it, or ask for a new one.',
    },
  },
  zh: {
    lang: 'zh-Hans',
    link: '继续',
    completed: { title: '验证已完成', text: '谢谢。您可以关闭此页面。' },
    verifying: { title: '正在确认验证结果', text: '通常只需几秒钟。您可以在此等候，也可以关闭此页面。' },
    failed: { title: '验证未通过', text: '请向引导您到此页面的服务方获取新的链接，然后重试。' },
    expired: { title: '此链接已过期', text: '请向引导您到此页面的服务方获取新的链接。' },
    unknown: { title: '此链接无效', text: '请按收到的原样重新打开链接，或获取新的链接。' },
  },
  'zh-hant': {
    lang: 'zh-Hant',
    link: '繼續',
    completed: { title: '驗證已完成', text: '謝謝。您可以關閉此頁面。' },
    verifying: { title: '正在確認驗證結果', text: '通常只需幾秒鐘。您可以在此等候，也可以關閉此頁面。' },
    failed: { title: '驗證未通過', text: '請向引導您到此頁面的服務方取得新的連結，然後再試一次。' },
    expired: { title: '此連結已過期', text: '請向引導您到此頁面的服務方取得新的連結。' },
    unknown: { title: '此連結無效', text: '請按收到的原樣重新開啟連結，或取得新的連結。' },
  },
  fr: {
    lang: 'fr',
    link: 'Continuer',
    completed: { title: 'Vérification terminée', text: 'Merci. Vous pouvez fermer cette page.' },
    verifying: {
      title: 'Contrôle de votre vérification',
      text: 'Cela prend en général quelques secondes. Vous pouvez patienter ici ou fermer cette page.',
    },
    failed: {
      title: 'Vérification non réussie',
      text: 'Demandez un nouveau lien au service qui vous a dirigé ici, puis réessayez.',
    },
    expired: { title: 'Ce lien a expiré', text: 'Demandez un nouveau lien au service qui vous a dirigé ici.' },
    unknown: {
      title: 'Ce lien n’est pas valide',
      text: 'Ouvrez de nouveau le lien exactement tel que vous l’avez reçu, ou demandez-en un nouveau.',
    },
  },
  de: {
    lang: 'de',
    link: 'Weiter',
    completed: { title: 'Prüfung abgeschlossen', text: 'Vielen Dank. Sie können diese Seite schließen.' },
    verifying: {
      title: 'Ihre Prüfung wird ausgewertet',
      text: 'Das dauert meist nur wenige Sekunden. Sie können hier warten oder diese Seite schließen.',
    },
    failed: {
      title: 'Prüfung nicht erfolgreich',
      text: 'Bitten Sie den Dienst, von dem Sie kommen, um einen neuen Link und versuchen Sie es noch einmal.',
    },
    expired: {
      title: 'Dieser Link ist abgelaufen',
      text: 'Bitten Sie den Dienst, von dem Sie kommen, um einen neuen Link.',
    },
    unknown: {
      title: 'Dieser Link ist ungültig',
      text: 'Öffnen Sie den Link noch einmal genau so, wie Sie ihn erhalten haben, oder bitten Sie um einen neuen.',
    },
  },
  es: {
    lang: 'es',
    link: 'Continuar',
    completed: { title: 'Verificación completada', text: 'Gracias. Puede cerrar esta página.' },
    verifying: {
      title: 'Comprobando su verificación',
      text: 'Suele tardar unos segundos. Puede esperar aquí o cerrar esta página.',
    },
    failed: {
      title: 'Verificación no superada',
      text: 'Pida un enlace nuevo al servicio que le envió aquí e inténtelo de nuevo.',
    },
    expired: { title: 'Este enlace ha caducado', text: 'Pida un enlace nuevo al servicio que le envió aquí.' },
    unknown: {
      title: 'Este enlace no es válido',
      text: 'Abra de nuevo el enlace tal como lo recibió, o pida uno nuevo.',
    },
  },
} as const satisfies Record<string, ReturnTexts>;
