/** A page outside of the frame: one card in the middle. */
import { type ReactNode, useEffect } from 'react';
import icon from '../icon.svg';
import { LanguageSwitch } from './language-switch.tsx';

export const Alone = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => {
  useEffect(() => {
    document.title = `${title} · Dragoman`;
  }, [title]);
  return (
    <div className="alone">
      <main>
        <div className="brand">
          <img src={icon} alt="" />
          Dragoman
        </div>
        <div className="card">
          <div className="body">
            <h1>{title}</h1>
            {children}
          </div>
        </div>
        <LanguageSwitch />
      </main>
    </div>
  );
};
