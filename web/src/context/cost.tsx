import { type ComponentProps, Suspense } from 'react';
import { part } from '../live/arrive';

const ChangeCost = part(() => import('./changecost'), 'ChangeCost');

// Cost is a ChangeCost whose code is loaded when it is needed.
export function Cost(props: ComponentProps<typeof ChangeCost>) {
  return (
    <Suspense fallback={null}>
      <ChangeCost {...props} />
    </Suspense>
  );
}
