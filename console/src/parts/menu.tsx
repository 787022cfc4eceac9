/** A button with a panel below it, which a click elsewhere and Escape close. */
import { type ReactNode, useEffect, useRef, useState } from 'react';

interface MenuProps {
  readonly label: ReactNode;
  readonly children: ReactNode;
}

export const Menu = ({ label, children }: MenuProps) => {
  const element = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const details = element.current;
    const close = (event: Event): void => {
      if (!details?.open || (event.target instanceof Node && details.contains(event.target))) return;
      details.open = false;
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || !details?.open) return;
      // Escape would also go back from the page.
      event.stopPropagation();
      details.open = false;
      details.querySelector('summary')?.focus();
    };
    document.addEventListener('pointerdown', close);
    details?.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('pointerdown', close);
      details?.removeEventListener('keydown', onKey);
    };
  }, []);
  return (
    <details className="menu" ref={element} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="button">{label}</summary>
      {isOpen && <div className="menu-panel">{children}</div>}
    </details>
  );
};
