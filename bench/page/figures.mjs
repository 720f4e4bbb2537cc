// The figures of the page in bench/README.md, in one run:
//
//	make bench-page
//	PARLEY_E2E_BINARY=bin/parley PARLEY_E2E_DEADLINE=180000 node bench/page/figures.mjs stream,scroll -rounds 1
import { browser } from '../../web/e2e/harness.mjs';
import { Lab, load } from './lab.mjs';
import { crowded } from './crowd.mjs';
import { opening, scripts, tabs } from './opening.mjs';
import { scroll } from './scroll.mjs';
import { streaming } from './stream.mjs';

const PARTS = { scripts, opening, tabs, scroll, stream: streaming, crowded };

const [only, ...rest] = process.argv.slice(2);
const rounds = Number(rest[rest.indexOf('-rounds') + 1] || 3);
const say = (line) => process.stdout.write(`${line}\n`);

const lab = await Lab.open();
const chrome = await browser();
try {
  for (const part of (only || Object.keys(PARTS).join()).split(',')) {
    say(`== ${part} (load ${load()})`);
    for (const { name, value, unit, bound, least } of await PARTS[part](lab, chrome, rounds, say)) {
      const met = least ? value >= bound : value <= bound;
      say(`${met ? 'met   ' : 'MISSED'} ${name}: ${Number(value.toFixed(2))}${unit} (bound ${least ? '≥' : '≤'} ${bound}${unit})`);
    }
  }
} finally {
  await chrome.close();
  await lab.close();
}
