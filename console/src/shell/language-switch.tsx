/** Names the other language in itself, for readers of that one. */
import { language, switchLanguage } from '../language.ts';

export const LanguageSwitch = () => (
  <button type="button" className="quiet" lang={language === 'zh' ? 'en' : 'zh-CN'} onClick={switchLanguage}>
    {language === 'zh' ? 'English' : '中文'}
  </button>
);
