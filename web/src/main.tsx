import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Tooltip } from 'radix-ui';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queries } from './api/queries';
import { fetchAhead } from './live/arrive';
import { feed } from './live/feed';
import { startOutbox } from './live/outbox';
import { retryWhenBack } from './live/back';
import { followWorkspace } from './live/workspace';
import { router } from './router';
import './styles.css';

feed.start();
followWorkspace(queries);
retryWhenBack(queries);
startOutbox();
fetchAhead();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Tooltip.Provider>
        <RouterProvider router={router} />
      </Tooltip.Provider>
    </QueryClientProvider>
  </StrictMode>,
);
