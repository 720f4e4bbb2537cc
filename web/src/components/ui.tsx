import { AlertCircle, Loader2, WifiOff } from 'lucide-react';
import { Dialog as Radix, DropdownMenu, Tooltip as RadixTooltip } from 'radix-ui';
import { type ButtonHTMLAttributes, type ComponentProps, type ReactNode, useRef, useState } from 'react';
import { Offline, Problem, sentence } from '../api/http';

export function cx(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ');
}

type Look = 'primary' | 'plain' | 'quiet' | 'danger';

const LOOKS: Record<Look, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong',
  plain: 'border border-line-strong bg-bg text-text hover:bg-hover',
  quiet: 'text-soft hover:bg-hover hover:text-text',
  danger: 'border border-line-strong text-bad hover:bg-bad-soft',
};

export function Button({ look = 'plain', className, type = 'button', ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { look?: Look }) {
  return (
    <button
      type={type}
      data-filled={look === 'primary' || undefined}
      className={cx('inline-flex min-h-8 items-center justify-center gap-1.5 rounded-lg px-3 text-sm font-medium transition-colors disabled:opacity-50', LOOKS[look], className)}
      {...rest}
    />
  );
}

// IconButton is a button with only an icon: its name is the tooltip, and read by screen readers. More may stand below
// the name.
export function IconButton({ name, more, className, children, ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { name: string; more?: ReactNode }) {
  return (
    <Tooltip text={name} more={more}>
      <button
        type="button"
        aria-label={name}
        className={cx('inline-flex size-8 shrink-0 select-none items-center justify-center rounded-lg text-soft transition-colors hover:bg-hover hover:text-text disabled:opacity-40', className)}
        {...rest}
      >
        {children}
      </button>
    </Tooltip>
  );
}

const HOLD = 500; // milliseconds of a touch

// Tooltip shows a text while its child is pointed at or has the focus. A touch that holds it shows the text too, and does
// not press it.
export function Tooltip({ text, more, children }: { text: string; more?: ReactNode; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const timer = useRef(0); // 0: no finger is on it
  const held = useRef(false);
  const lift = () => {
    clearTimeout(timer.current);
    timer.current = 0;
  };
  return (
    <RadixTooltip.Root delayDuration={400} open={open} onOpenChange={setOpen}>
      <RadixTooltip.Trigger
        asChild
        onPointerDown={({ pointerType }) => {
          held.current = false;
          if (pointerType === 'touch') timer.current = window.setTimeout(() => setOpen((held.current = true)), HOLD);
        }}
        onPointerUp={lift}
        onPointerCancel={lift}
        onContextMenu={(event) => timer.current && event.preventDefault()}
        onClickCapture={(event) => {
          if (held.current) {
            event.preventDefault();
            event.stopPropagation();
          }
        }}
      >
        {children}
      </RadixTooltip.Trigger>
      <RadixTooltip.Portal>
        <RadixTooltip.Content sideOffset={6} collisionPadding={8} className="z-50 max-w-80 rounded-md bg-text px-2 py-1 text-xs text-bg shadow-pop">
          {text}
          {more}
        </RadixTooltip.Content>
      </RadixTooltip.Portal>
    </RadixTooltip.Root>
  );
}

export function Dialog({ open, onClose, title, about, children }: { open: boolean; onClose: () => void; title: string; about?: string; children: ReactNode }) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Radix.Content
          className="fixed top-1/2 left-1/2 z-50 max-h-[85dvh] w-[min(32rem,calc(100vw-2rem))] -translate-x-1/2 -translate-y-1/2 overflow-y-auto rounded-2xl border border-line bg-bg p-5 shadow-pop"
          {...(about ? {} : { 'aria-describedby': undefined })}
        >
          <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
          {about && <Radix.Description className="mt-1 text-sm text-soft">{about}</Radix.Description>}
          <div className="mt-4">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export interface MenuEntry {
  label: string;
  icon?: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  takesFocus?: boolean; // opens something that takes the focus, after the menu has closed
  disabled?: boolean;
}

export function Menu({ trigger, entries, align = 'end', onOpen }: { trigger: ReactNode; entries: (MenuEntry | null)[]; align?: 'start' | 'end'; onOpen?: () => void }) {
  const afterwards = useRef<(() => void) | null>(null);
  return (
    <DropdownMenu.Root onOpenChange={(open) => open && onOpen?.()}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          onCloseAutoFocus={(event) => {
            if (!afterwards.current) return;
            event.preventDefault();
            afterwards.current();
            afterwards.current = null;
          }}
          className="z-50 min-w-44 rounded-xl border border-line bg-bg p-1 shadow-pop">
          {entries.map((entry, i) =>
            entry === null ? (
              <DropdownMenu.Separator key={i} className="my-1 h-px bg-line" />
            ) : (
              <DropdownMenu.Item
                key={entry.label}
                disabled={entry.disabled}
                onSelect={() => (entry.takesFocus ? (afterwards.current = entry.onSelect) : entry.onSelect())}
                className={cx(
                  'flex cursor-default items-center gap-2 rounded-lg px-2.5 py-1.5 text-sm outline-none select-none data-[disabled]:opacity-40 data-[highlighted]:bg-hover',
                  entry.danger && 'text-bad',
                )}
              >
                <span className="flex w-4 justify-center" aria-hidden>
                  {entry.icon}
                </span>
                {entry.label}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

const FIELD = 'w-full rounded-lg border border-line-strong bg-bg px-3 text-sm placeholder:text-faint focus:border-accent';

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return <input className={cx(FIELD, 'h-9', className)} {...rest} />;
}

export function TextArea({ className, ...rest }: ComponentProps<'textarea'>) {
  return <textarea className={cx(FIELD, 'py-2', className)} {...rest} />;
}

export function Select({ className, ...rest }: ComponentProps<'select'>) {
  return <select className={cx(FIELD, 'h-9 pr-8', className)} {...rest} />;
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    <label className="block">
      <span className="mb-1 block text-sm font-medium">{label}</span>
      {children}
      {hint && <span className="mt-1 block text-xs text-faint">{hint}</span>}
    </label>
  );
}

export function Badge({ tone = 'plain', children }: { tone?: 'plain' | 'good' | 'warn' | 'bad' | 'accent'; children: ReactNode }) {
  const tones = {
    plain: 'bg-sunken text-soft',
    good: 'bg-good-soft text-good',
    warn: 'bg-warn-soft text-warn',
    bad: 'bg-bad-soft text-bad',
    accent: 'bg-accent-soft text-accent-strong',
  };
  return <span className={cx('inline-flex items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap', tones[tone])}>{children}</span>;
}

// Page is a page with a heading; it scrolls as a whole.
export function Page({ title, about, actions, children, wide }: { title: string; about?: string; actions?: ReactNode; children: ReactNode; wide?: boolean }) {
  return (
    <div className="h-full overflow-y-auto">
      <div className={cx('mx-auto px-4 py-6 sm:px-8', wide ? 'max-w-6xl' : 'max-w-4xl')}>
        <header className="mb-6 flex items-start justify-between gap-4 max-md:flex-col max-md:pl-10">
          <div>
            <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
            {about && <p className="mt-1 max-w-prose text-sm text-soft">{about}</p>}
          </div>
          <div className="flex shrink-0 items-center gap-2">{actions}</div>
        </header>
        {children}
      </div>
    </div>
  );
}

export function Empty({ icon, title, children }: { icon?: ReactNode; title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-12 text-center">
      {icon && (
        <span className="text-faint" aria-hidden>
          {icon}
        </span>
      )}
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-md text-sm text-soft">{children}</div>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="flex items-center gap-2 py-8 text-sm text-soft">
      <Loader2 size={16} className="animate-spin" aria-hidden /> Loading {what}…
    </p>
  );
}

// Arriving is a page whose code has not arrived yet.
export function Arriving() {
  return (
    <div className="px-8 pt-6">
      <Loading what="the page" />
    </div>
  );
}

// Failed says what went wrong, and offers to try again.
export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const offline = error instanceof Offline;
  return (
    <div role="alert" className="flex items-start gap-3 rounded-xl border border-line bg-bad-soft p-4 text-sm">
      <span className="mt-0.5 text-bad" aria-hidden>
        {offline ? <WifiOff size={16} /> : <AlertCircle size={16} />}
      </span>
      <div className="min-w-0 flex-1">
        <p className="break-words">{sentence(error)}</p>
        {error instanceof Problem && error.requestID && <p className="mt-1 font-mono text-xs text-soft">request {error.requestID}</p>}
      </div>
      {onRetry && (
        <Button onClick={onRetry} className="shrink-0">
          Try again
        </Button>
      )}
    </div>
  );
}
