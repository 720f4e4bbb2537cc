import { type ComponentProps, Suspense } from 'react';
import { cx } from '../components/ui';
import { part } from '../live/arrive';

const ChangeCost = part(() => import('./changecost'), 'ChangeCost');

// Cost is a ChangeCost whose code is loaded when it is needed.
export function Cost(props: ComponentProps<typeof ChangeCost>) {
  return (
    <Suspense fallback={<span className={cx('block', props.className)} />}>
      <ChangeCost {...props} />
    </Suspense>
  );
}
